#include "cc/ir/print.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "cc/base/status.h"

namespace cavs {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + "\"";
}

bool IsWord(const std::string& text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_';
         });
}

template <typename Item, typename Text>
std::string Joined(const std::vector<Item>& items, const Text& text) {
  std::string joined;
  for (const Item& item : items) {
    joined += StrCat(joined.empty() ? "" : ", ", text(item));
  }
  return joined;
}

template <typename Number>
std::string List(const std::vector<Number>& numbers) {
  return "[" + Joined(numbers, [](Number x) { return x; }) + "]";
}

// A constant's value as a comment, if it is short enough.
std::string Value(const TensorRef& constant, int64_t count) {
  constexpr int64_t kMost = 4;
  if (count > kMost || constant.data == nullptr) return "";
  const auto values = [&](auto zero) {
    const auto* data = static_cast<const decltype(zero)*>(constant.data);
    return "  // " + List(std::vector<decltype(zero)>(data, data + count));
  };
  switch (constant.dtype) {
    case DType::kFloat32:
      return values(float{});
    case DType::kFloat64:
      return values(double{});
    case DType::kInt32:
      return values(int32_t{});
    case DType::kInt64:
      return values(int64_t{});
    default:
      return "";
  }
}

class Printer {
 public:
  // `zeros` may be null: then there are no comments.
  Printer(const Program& program, const Zeros* zeros)
      : program_(program),
        zeros_(zeros),
        is_declared_(program.symbols.size(), false),
        is_written_(program.symbols.size(), false) {
    for (const Node& node : program.nodes) MarkWritten(node);
  }

  std::string Run() {
    if (!program_.name.empty() || program_.is_derivative) {
      text_ = program_.is_derivative ? "derivative " : "program ";
      text_ += Quoted(program_.name) + "\n";
    }
    for (const Node& node : program_.nodes) {
      DeclareInputs(node);
      PrintNode(node, "  ", nullptr);
    }
    for (int id : program_.results) Declare(id);
    if (!program_.results.empty()) {
      text_ += "  results " + Names(program_.results) + "\n";
    }
    return std::move(text_);
  }

 private:
  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  void MarkWritten(const Node& node) {
    for (int id : node.outputs) is_written_[id] = true;
    for (const Node& member : node.members) MarkWritten(member);
  }

  std::string Name(int id) const {
    return StrCat(symbol(id).kind == SymbolKind::kInvariant ? '@' : '%', id);
  }
  std::string Names(const std::vector<int>& ids) const {
    return Joined(ids, [&](int id) { return Name(id); });
  }

  std::string Slice(const Symbol& s) const {
    const std::string by = s.pitch == 0 ? "" : StrCat(" by ", s.pitch);
    return StrCat(Name(s.parent), "[", s.offset, ":", s.offset + s.extent(), by,
                  "]");
  }

  static std::string Type(const Symbol& s) {
    std::string type =
        StrCat(ToString(s.kind, s.space), "<", s.shape_known ? "" : "?x");
    for (int64_t size : s.shape) type += StrCat(size, "x");
    return StrCat(type, ToString(s.dtype), ">");
  }

  static std::string As(const Symbol& s, const std::string& usual_name) {
    return s.name == usual_name ? "" : " as " + Quoted(s.name);
  }

  // Declares the inputs that no node computes, before the first node that reads
  // them.
  void DeclareInputs(const Node& node) {
    for (int id : node.inputs) Declare(id);
    for (int id : node.outputs) DeclareParent(id);
    for (const Node& member : node.members) DeclareInputs(member);
  }

  void DeclareParent(int id) {
    if (symbol(id).parent >= 0) Declare(symbol(id).parent);
  }

  void Declare(int id) {
    if (is_declared_[id] || is_written_[id]) return;
    is_declared_[id] = true;
    DeclareParent(id);
    const Symbol& s = symbol(id);
    text_ +=
        StrCat("  ", Name(id), " = ", Source(id), " : ", Type(s), As(s, ""));
    if (s.source == SymbolSource::kConstant) {
      text_ += Value(*s.constant, s.columns());
    }
    text_ += "\n";
  }

  std::string Source(int id) const {
    const Symbol& s = symbol(id);
    if (s.source == SymbolSource::kCapture) {
      return StrCat("capture(", s.index, ")");
    }
    if (s.source == SymbolSource::kSaved) return StrCat("saved(", s.index, ")");
    if (s.source == SymbolSource::kConstant) {
      return StrCat(
          "constant(",
          std::count_if(program_.symbols.begin(), program_.symbols.begin() + id,
                        [](const Symbol& other) {
                          return other.source == SymbolSource::kConstant;
                        }),
          ")");
    }
    if (s.parent >= 0) return "view " + Slice(s);
    if (s.kind != SymbolKind::kRowCount) return "storage";
    return StrCat("row_count ", List(s.scale), ", ", List(s.bias));
  }

  // `group` is the node that `node` is a member of, or null.
  void PrintNode(const Node& node, const std::string& indent,
                 const Node* group) {
    text_ += indent;
    if (!node.outputs.empty()) text_ += Names(node.outputs) + " = ";
    text_ += node.kind == NodeKind::kElementwise ? RowOf(node.elementwise).name
                                                 : RowOf(node.kind).name;
    if (node.index >= 0) text_ += StrCat("(", node.index, ")");
    if (!node.inputs.empty()) text_ += " " + Names(node.inputs);
    if (node.kind != NodeKind::kGroup) text_ += Types(node);
    text_ += Attributes(node, group != nullptr && group->stage == node.stage);
    if (!node.name.empty() || !node.op.empty()) {
      text_ += "  " + Quoted(node.name);
    }
    if (!node.op.empty()) {
      text_ += " " + (IsWord(node.op) ? node.op : Quoted(node.op));
    }
    text_ += Comment(node, group != nullptr) + "\n";
    if (node.kind != NodeKind::kGroup) return;
    for (const Node& member : node.members) {
      PrintNode(member, indent + "  ", &node);
    }
    text_ += indent + "end\n";
  }

  std::string Comment(const Node& node, bool is_member) const {
    if (zeros_ == nullptr) return "";
    if (!is_member &&
        zeros_->only_for_children[&node - program_.nodes.data()]) {
      return "  // skipped without children";
    }
    const bool is_zero =
        RowOf(node.kind).zero != Zero::kAlways && !node.outputs.empty() &&
        std::all_of(node.outputs.begin(), node.outputs.end(),
                    [&](int id) { return zeros_->symbols[id]; });
    return is_zero ? "  // zero without children" : "";
  }

  // The types of all outputs, if one of them occurs for the first time.
  std::string Types(const Node& node) {
    const bool is_first =
        std::any_of(node.outputs.begin(), node.outputs.end(),
                    [&](int id) { return !is_declared_[id]; });
    if (!is_first) return "";
    return " : " + Joined(node.outputs, [&](int id) {
             is_declared_[id] = true;
             const Symbol& s = symbol(id);
             return StrCat(Type(s), s.parent < 0 ? "" : " in " + Slice(s),
                           As(s, node.name));
           });
  }

  static std::string Attributes(const Node& node, bool is_stage_known) {
    std::vector<std::string> attributes;
    if (!is_stage_known) attributes.push_back(ToString(node.stage));
    if (node.transpose) attributes.push_back("transpose");
    if (node.accumulate) attributes.push_back("accumulate");
    if (node.adds) attributes.push_back("adds");
    if (!node.merged.empty()) {
      attributes.push_back("merged(" + Joined(node.merged, Quoted) + ")");
    }
    if (attributes.empty()) return "";
    const auto itself = [](const std::string& item) { return item; };
    return "  {" + Joined(attributes, itself) + "}";
  }

  const Program& program_;
  const Zeros* const zeros_;
  std::string text_;
  std::vector<bool> is_declared_, is_written_;  // Indexed by symbol.
};

}  // namespace

const char* ToString(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "f32";
    case DType::kFloat64:
      return "f64";
    case DType::kInt32:
      return "i32";
    case DType::kInt64:
      return "i64";
    case DType::kBool:
      return "bool";
    case DType::kBFloat16:
      return "bf16";
    case DType::kFloat16:
      return "f16";
    case DType::kInt8:
      return "i8";
    case DType::kUInt8:
      return "u8";
    case DType::kInt16:
      return "i16";
    case DType::kUInt16:
      return "u16";
    case DType::kUInt32:
      return "u32";
    case DType::kUInt64:
      return "u64";
    case DType::kOther:
      return "other";
  }
  return "unknown";
}

const char* ToString(SymbolKind kind, RowSpace space) {
  const bool is_edges = space == RowSpace::kEdges;
  switch (kind) {
    case SymbolKind::kRows:
      return is_edges ? "edges" : "rows";
    case SymbolKind::kInvariant:
      return "invariant";
    case SymbolKind::kReduced:
      return "sum";
    case SymbolKind::kRowCount:
      return is_edges ? "edge_count" : "count";
    case SymbolKind::kOpaque:
      return "opaque";
  }
  return "unknown";
}

std::string Print(const Program& program) {
  return Printer(program, nullptr).Run();
}

std::string Print(const CompiledProgram& program) {
  return Printer(program, &program.zeros).Run();
}

std::vector<std::shared_ptr<const TensorRef>> Constants(
    const Program& program) {
  std::vector<std::shared_ptr<const TensorRef>> constants;
  for (const Symbol& symbol : program.symbols) {
    if (symbol.source == SymbolSource::kConstant) {
      constants.push_back(symbol.constant);
    }
  }
  return constants;
}

}  // namespace cavs

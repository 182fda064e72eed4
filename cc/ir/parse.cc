#include "cc/ir/parse.h"

#include <cctype>
#include <cstdint>
#include <string>
#include <utility>

#include "cc/base/byte_count.h"
#include "cc/ir/make_instructions.h"
#include "cc/ir/print.h"

namespace cavs {
namespace {

// A fault in the text, thrown to Parse().
struct Fault {
  std::string got;
  const char* expected;
};

// Reads the tokens of one line from left to right.
class Line {
 public:
  explicit Line(std::string_view text) : left_(text) { SkipSpace(); }

  bool AtEnd() const { return left_.empty(); }

  // Consumes `token` if it comes next.
  bool Take(std::string_view token) {
    if (left_.substr(0, token.size()) != token) return false;
    left_.remove_prefix(token.size());
    SkipSpace();
    return true;
  }
  void Expect(const char* token) {
    if (!Take(token)) Fail(token);
  }

  bool NextIsWord() const {
    return !AtEnd() && std::isalpha(static_cast<unsigned char>(left_[0]));
  }
  std::string Word() {
    size_t n = 0;
    while (n < left_.size() &&
           (std::isalnum(static_cast<unsigned char>(left_[n])) ||
            left_[n] == '_')) {
      ++n;
    }
    if (!NextIsWord()) Fail("a word");
    return Cut(n);
  }

  int64_t Number(int64_t most) {
    size_t n = !left_.empty() && left_[0] == '-' ? 1 : 0;
    while (n < left_.size() &&
           std::isdigit(static_cast<unsigned char>(left_[n]))) {
      ++n;
    }
    if (n == 0 || n > 18 || left_[n - 1] == '-') Fail("a number");
    const int64_t number = std::stoll(std::string(left_.substr(0, n)));
    if (number > most) Fail("a smaller number");
    Cut(n);
    return number;
  }

  std::vector<int64_t> Numbers() {
    std::vector<int64_t> numbers;
    Expect("[");
    while (!Take("]")) {
      if (!numbers.empty()) Expect(",");
      numbers.push_back(Number(kMostElements));
    }
    return numbers;
  }

  bool NextIsQuoted() const { return !AtEnd() && left_[0] == '"'; }
  std::string Quoted() {
    std::string text;
    size_t i = 1;
    for (; i < left_.size() && left_[i] != '"'; ++i) {
      if (left_[i] == '\\') ++i;
      if (i < left_.size()) text += left_[i];
    }
    if (!NextIsQuoted() || i >= left_.size()) Fail("a name in quotes");
    Cut(i + 1);
    return text;
  }

  // Returns the text before `end`, and consumes both.
  std::string Until(char end) {
    const size_t n = left_.find(end);
    if (n == std::string_view::npos) Fail("a type");
    const std::string text(left_.substr(0, n));
    Cut(n + 1);
    return text;
  }

  [[noreturn]] void Fail(const char* expected) const {
    throw Fault{AtEnd() ? "the end of the line"
                        : "\"" + std::string(left_.substr(0, 30)) + "\"",
                expected};
  }

 private:
  std::string Cut(size_t n) {
    std::string text(left_.substr(0, n));
    left_.remove_prefix(n);
    SkipSpace();
    return text;
  }

  void SkipSpace() {
    while (!AtEnd() && left_[0] == ' ') left_.remove_prefix(1);
    if (left_.substr(0, 2) == "//") left_ = {};
  }

  std::string_view left_;
};

// The enum value, up to `last`, whose name is `text`.
template <typename Enum>
Enum Named(const Line& line, const std::string& text, Enum last,
           const char* expected) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (ToString(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
  }
  line.Fail(expected);
}

class Parser {
 public:
  using Constants = std::vector<std::shared_ptr<const TensorRef>>;

  Parser(const Constants& constants, Program* program)
      : constants_(constants), program_(*program) {}

  Status Run(std::string_view text) {
    int number = 0;
    try {
      while (!text.empty()) {
        const size_t end = text.find('\n');
        ++number;
        ReadLine(Line(text.substr(0, end)));
        text.remove_prefix(end == std::string_view::npos ? text.size()
                                                         : end + 1);
      }
      ++number;
      if (!open_.empty()) throw Fault{"the end of the text", "end"};
    } catch (const Fault& fault) {
      return InvalidArgument("program: got ", fault.got, " in line ", number,
                             " but expected ", fault.expected,
                             ". Write it as Print() does.");
    }
    for (size_t id = 0; id < is_declared_.size(); ++id) {
      if (is_named_[id] && !is_declared_[id]) {
        return InvalidArgument("program: got symbol ", id,
                               " without a type but expected one where it is "
                               "written or given. Write it as Print() does.");
      }
    }
    return Status();
  }

 private:
  static constexpr int64_t kMostSymbols = 1 << 20;

  void ReadLine(Line line) {
    if (line.AtEnd()) return;
    const bool is_derivative = line.Take("derivative ");
    if (is_derivative || line.Take("program ")) {
      program_.is_derivative = is_derivative;
      program_.name = line.Quoted();
    } else if (line.Take("results ")) {
      program_.results = Symbols(&line);
    } else if (line.Take("end")) {
      Close(line);
    } else {
      ReadStatement(&line);
    }
    if (!line.AtEnd()) line.Fail("the end of the line");
  }

  // Called when the group that was begun last has all its members.
  void Close(const Line& line) {
    if (open_.empty()) line.Fail("a group before");
    if (!MakeInstructions(program_, &open_.back()))
      line.Fail("a smaller group");
    program_.nodes.push_back(std::move(open_.back()));
    open_.pop_back();
  }

  void ReadStatement(Line* line) {
    std::vector<int> outputs;
    if (!line->NextIsWord()) {
      outputs = Symbols(line);
      line->Expect("=");
    }
    const std::string word = line->Word();
    if (outputs.size() == 1 && ReadSource(word, outputs[0], line)) return;
    Node node;
    if (const Operator* found = FindOperator(word)) {
      node.kind = found->kind;
    } else if (const ElementwiseOperator* found = FindElementwise(word)) {
      node.kind = NodeKind::kElementwise;
      node.elementwise = found->op;
    } else {
      throw Fault{"\"" + word + "\"", "the name of an operator"};
    }
    node.outputs = std::move(outputs);
    ReadNode(line, &node);
    if (node.kind == NodeKind::kGroup) {
      if (!open_.empty()) line->Fail("no group within a group");
      open_.push_back(std::move(node));
    } else if (!open_.empty()) {
      open_.back().members.push_back(std::move(node));
    } else {
      program_.nodes.push_back(std::move(node));
    }
  }

  void ReadNode(Line* line, Node* node) {
    if (line->Take("(")) {
      node->index = static_cast<int>(line->Number(kMostSymbols));
      line->Expect(")");
    }
    if (line->Take("%") || line->Take("@")) node->inputs = MoreSymbols(line);
    std::vector<bool> has_name(node->outputs.size(), true);
    if (line->Take(":")) {
      for (size_t i = 0; i < node->outputs.size(); ++i) {
        if (i > 0) line->Expect(",");
        has_name[i] = ReadType(line, node->outputs[i]);
      }
    }
    if (!open_.empty()) node->stage = open_.back().stage;
    if (line->Take("{")) ReadAttributes(line, node);
    if (line->NextIsQuoted()) {
      node->name = line->Quoted();
      if (line->NextIsQuoted()) {
        node->op = line->Quoted();
      } else if (line->NextIsWord()) {
        node->op = line->Word();
      }
    }
    for (size_t i = 0; i < has_name.size(); ++i) {
      if (!has_name[i]) symbol(node->outputs[i]).name = node->name;
    }
  }

  void ReadAttributes(Line* line, Node* node) {
    do {
      if (line->Take("transpose")) {
        node->transpose = true;
      } else if (line->Take("accumulate")) {
        node->accumulate = true;
      } else if (line->Take("adds")) {
        node->adds = true;
      } else if (line->Take("merged(")) {
        do {
          node->merged.push_back(line->Quoted());
        } while (line->Take(","));
        line->Expect(")");
      } else {
        node->stage = Named(*line, line->Word(), Stage::kEpilogue, "a stage");
      }
    } while (line->Take(","));
    line->Expect("}");
  }

  // Reads a symbol that no node computes; returns false if `word` says that a
  // node does.
  bool ReadSource(const std::string& word, int id, Line* line) {
    Symbol& s = symbol(id);
    if (word == "view") {
      ReadSlice(line, id);
    } else if (word == "row_count") {
      s.scale = line->Numbers();
      line->Expect(",");
      s.bias = line->Numbers();
    } else if (word == "capture" || word == "saved" || word == "constant") {
      line->Expect("(");
      const int index = static_cast<int>(line->Number(kMostSymbols));
      if (word == "constant") {
        ReadConstant(*line, index, &s);
      } else {
        s.index = index;
        s.source =
            word == "saved" ? SymbolSource::kSaved : SymbolSource::kCapture;
      }
      line->Expect(")");
    } else if (word != "storage") {
      return false;
    }
    line->Expect(":");
    ReadType(line, id);
    return true;
  }

  void ReadConstant(const Line& line, int index, Symbol* s) {
    if (index < 0 || index >= static_cast<int>(constants_.size())) {
      line.Fail("the number of a constant that was given");
    }
    s->source = SymbolSource::kConstant;
    s->constant = constants_[index];
  }

  // Reads "rows<64xf32>" and, if they follow, where the symbol lies and its
  // name. Returns whether there was a name.
  bool ReadType(Line* line, int id) {
    is_declared_[id] = true;
    ReadKind(*line, line->Until('<'), id);
    std::string type = line->Until('>');
    symbol(id).shape.clear();
    for (size_t x; (x = type.find('x')) != std::string::npos;) {
      const std::string size = type.substr(0, x);
      type = type.substr(x + 1);
      if (size == "?") {
        symbol(id).shape_known = false;
      } else {
        symbol(id).shape.push_back(Line(size).Number(kMostElements));
      }
    }
    symbol(id).dtype = Named(*line, type, DType::kOther, "an element type");
    if (line->Take("in ")) ReadSlice(line, id);
    if (!line->Take("as ")) return false;
    symbol(id).name = line->Quoted();
    return true;
  }

  void ReadKind(const Line& line, const std::string& kind, int id) {
    for (int i = 0; i <= static_cast<int>(SymbolKind::kOpaque); ++i) {
      for (int space = 0; space < kNumRowSpaces; ++space) {
        symbol(id).kind = static_cast<SymbolKind>(i);
        symbol(id).space = static_cast<RowSpace>(space);
        if (ToString(symbol(id).kind, symbol(id).space) == kind) return;
      }
    }
    line.Fail("a kind of rows");
  }

  // Reads "%4[0:64]", or "@4[0:64 by 128]", where symbol `id` lies.
  void ReadSlice(Line* line, int id) {
    const int parent = SymbolId(line);
    line->Expect("[");
    symbol(id).parent = parent;
    symbol(id).offset = line->Number(kMostElements);
    line->Expect(":");
    line->Number(2 * kMostElements);
    if (line->Take("by")) symbol(id).pitch = line->Number(kMostElements);
    line->Expect("]");
  }

  std::vector<int> Symbols(Line* line) {
    if (!line->Take("%") && !line->Take("@")) line->Fail("a symbol");
    return MoreSymbols(line);
  }
  // Reads a list of symbols whose first sign (% or @) has been consumed.
  std::vector<int> MoreSymbols(Line* line) {
    std::vector<int> ids = {NumberOfSymbol(line)};
    while (line->Take(",")) ids.push_back(SymbolId(line));
    return ids;
  }
  int SymbolId(Line* line) {
    if (!line->Take("%") && !line->Take("@")) line->Fail("a symbol");
    return NumberOfSymbol(line);
  }
  int NumberOfSymbol(Line* line) {
    const int id = static_cast<int>(line->Number(kMostSymbols));
    if (id < 0) line->Fail("a number from 0");
    while (static_cast<int>(program_.symbols.size()) <= id) {
      program_.symbols.emplace_back();
      program_.symbols.back().kind = SymbolKind::kOpaque;
      is_declared_.push_back(false);
      is_named_.push_back(false);
    }
    is_named_[id] = true;
    return id;
  }

  Symbol& symbol(int id) { return program_.symbols[id]; }

  const Constants& constants_;
  Program& program_;
  std::vector<Node> open_;  // The group whose members are being read, if any.
  std::vector<bool> is_declared_, is_named_;  // Indexed by symbol.
};

}  // namespace

Status Parse(std::string_view text,
             const std::vector<std::shared_ptr<const TensorRef>>& constants,
             Program* program) {
  *program = Program();
  return Parser(constants, program).Run(text);
}

}  // namespace cavs

#include "cc/device/cuda/source/group.h"

#include <utility>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/cuda/source/kernels.h"

namespace cavs {
namespace {

// `@` stands for x, `#` for y, and both for names of variables. See Evaluate().
const char* ExpressionOf(Elementwise op) {
  switch (op) {
    case Elementwise::kIdentity:
      return "@";
    case Elementwise::kNeg:
      return "-@";
    case Elementwise::kAbs:
      return "fabs(@)";
    case Elementwise::kSquare:
      return "@ * @";
    case Elementwise::kSqrt:
      return "sqrt(@)";
    case Elementwise::kRsqrt:
      return "W(1) / sqrt(@)";
    case Elementwise::kReciprocal:
      return "W(1) / @";
    case Elementwise::kExp:
      return "exp(@)";
    case Elementwise::kLog:
      return "log(@)";
    case Elementwise::kSigmoid:
      return "W(1) / (W(1) + exp(-@))";
    case Elementwise::kTanh:
      return "tanh(@)";
    case Elementwise::kRelu:
      return "(@ < W(0) ? W(0) : @)";
    case Elementwise::kSoftplus:
      return "(@ < W(0) ? W(0) : @) + log1p(exp(-fabs(@)))";
    case Elementwise::kElu:
      return "(@ < W(0) ? expm1(@) : @)";
    case Elementwise::kErf:
      return "erf(@)";
    case Elementwise::kAdd:
      return "@ + #";
    case Elementwise::kSub:
      return "@ - #";
    case Elementwise::kMul:
      return "@ * #";
    case Elementwise::kDiv:
      return "@ / #";
    case Elementwise::kMaximum:
      return "(@ != @ ? @ : # != # ? # : (@ > # ? @ : #))";
    case Elementwise::kMinimum:
      return "(@ != @ ? @ : # != # ? # : (@ < # ? @ : #))";
    case Elementwise::kSquaredDifference:
      return "(@ - #) * (@ - #)";
    case Elementwise::kGreater:
      return "W(@ > #)";
    case Elementwise::kGreaterEqual:
      return "W(@ >= #)";
    case Elementwise::kEqual:
      return "W(@ == #)";
    case Elementwise::kNotEqual:
      return "W(@ != #)";
    case Elementwise::kKeep:
      return "(# != W(0) ? @ : W(0))";
    case Elementwise::kDrop:
      return "(# != W(0) ? W(0) : @)";
    case Elementwise::kSigmoidGrad:
      return "# * @ * (W(1) - @)";
    case Elementwise::kTanhGrad:
      return "# * (W(1) - @ * @)";
    case Elementwise::kReluGrad:
      return "(# > W(0) ? @ : W(0))";
    case Elementwise::kSoftplusGrad:
      return "@ / (W(1) + exp(-#))";
    case Elementwise::kEluGrad:
      return "(# < W(0) ? @ * (# + W(1)) : @)";
    case Elementwise::kSqrtGrad:
      return "(# == W(0) ? W(0) : # * W(0.5) / @)";
    case Elementwise::kRsqrtGrad:
      return "(# == W(0) ? W(0) : (# * W(-0.5) * @) * (@ * @))";
    case Elementwise::kReciprocalGrad:
      return "-# * @ * @";
  }
  return "";
}

std::string Expression(Elementwise op, const std::string& x,
                       const std::string& y) {
  std::string text;
  for (const char* c = ExpressionOf(op); *c != 0; ++c) {
    if (*c == '@') {
      text += x;
    } else if (*c == '#') {
      text += y;
    } else {
      text += *c;
    }
  }
  return text;
}

constexpr char kBegin[] = R"(
typedef Wide<T> W;

// A value of the group in memory: row r of it is row r * row_step, or
// index[r], of `data`. A column step of 0 is a column that stands for all.
struct Operand {
  Global<T> data;
  Global<const int> index;
  i64 pitch;
  int row_step, column_step;
};
FUNCTION W value_of(const Operand& own, i64 r, i64 c) {
  const i64 row = own.index ? static_cast<i64>(own.index[r])
                            : r * own.row_step;
  const T number = own.data[row * own.pitch + c * own.column_step];
  return to_wide(number);
}
// Row -1 of an index goes nowhere.
FUNCTION void write_value(const Operand& own, i64 r, i64 c, W x) {
  const i64 row = own.index ? static_cast<i64>(own.index[r]) : r;
  if (row >= 0) own.data[row * own.pitch + c] = from_wide<T>(x);
}
)";

constexpr char kLoop[] = R"(
  const int width = 1 << a.shift, height = thread_count() >> a.shift;
  const i64 c = static_cast<i64>(at.x) * width +
                (thread_index() & (width - 1));
  if (c >= a.columns) return;
  for (i64 first = static_cast<i64>(at.y) * a.block_rows; first < a.rows;
       first += static_cast<i64>(at.height) * a.block_rows) {
  i64 end = first + a.block_rows;
  if (end > a.rows) end = a.rows;
  for (i64 r = first + (thread_index() >> a.shift); r < end; r += height) {
)";

class GroupWriter {
 public:
  explicit GroupWriter(const ElementwiseGroup& group)
      : group_(group), known_(group.num_operands + group.num_scratch, false) {}

  std::string Write() {
    for (const ElementwiseGroup::Instruction& one : group_.instructions) {
      Write(one);
    }
    std::string variables;
    for (size_t i = 0; i < known_.size(); ++i) {
      if (known_[i]) variables += StrCat("    W v", i, ";\n");
    }
    return variables + lines_;
  }

 private:
  void Write(const ElementwiseGroup::Instruction& one) {
    const std::string x = Value(one.x), y = Value(one.y);
    std::string result = Expression(one.op, x, y);
    if (one.then != Elementwise::kIdentity) {
      const std::string inner = "inner" + std::to_string(num_inner_++);
      lines_ += StrCat("    const W ", inner, " = ", result, ";\n");
      result = IsBinary(one.then) ? Expression(one.then, Value(one.z), inner)
                                  : Expression(one.then, inner, inner);
    }
    known_[one.out] = true;
    lines_ += StrCat("    v", one.out, " = ", result, ";\n");
    if (one.out >= group_.num_operands) return;
    lines_ += StrCat("    write_value(a.operands[", one.out, "], r, c, v",
                     one.out, ");\n");
  }

  // The variable of a value, which is read from memory when it is first needed.
  std::string Value(int number) {
    if (!known_[number]) {
      known_[number] = true;
      lines_ += StrCat("    v", number, " = value_of(a.operands[", number,
                       "], r, c);\n");
    }
    return StrCat("v", number);
  }

  const ElementwiseGroup& group_;
  std::vector<bool> known_;
  std::string lines_;
  int num_inner_ = 0;
};

}  // namespace

std::shared_ptr<const CudaText> TextOfGroup(const ElementwiseGroup& group,
                                            DType dtype) {
  CudaText text;
  text.body = StrCat("typedef ", CudaTypeName(dtype), " T;\n", kBegin,
                     "struct GroupArgs {\n  i64 rows, columns;\n"
                     "  int shift, block_rows;\n",
                     "  Operand operands[", group.num_operands,
                     "];\n};\nFUNCTION void group(const GroupArgs& a, "
                     "const Where& at) {",
                     kLoop, GroupWriter(group).Write(), "  }\n  }\n}\n");
  text.kernels = {{"group", "GroupArgs", "group(a, at)"}};
  return std::make_shared<CudaText>(std::move(text));
}

ElementwiseGroup GroupOf(Elementwise op) {
  ElementwiseGroup group;
  const int16_t out = IsBinary(op) ? 2 : 1;
  group.instructions = {
      {op, 0, static_cast<int16_t>(out - 1), out, Elementwise::kIdentity, 0}};
  group.num_operands = out + 1;
  return group;
}

}  // namespace cavs

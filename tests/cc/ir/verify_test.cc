#include "cc/ir/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/byte_count.h"
#include "cc/base/no_throw.h"
#include "cc/ir/parse.h"
#include "cc/ir/passes/run_passes.h"
#include "cc/ir/print.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

// A valid program with a node of most kinds, of which each test spoils a copy.
Program Good() {
  Sketch f(DType::kFloat32);
  const int x = f.Pull(0, 3);
  const int product = f.MatMul(x, f.Capture(0, {3, 4}));
  const int sum = f.Call(Elementwise::kAdd, product, f.Gather(0, 4));
  f.Scatter(sum);
  f.Push(0, f.View(sum, 1, 2));
  f.program.results = {sum};
  return f.program;
}

std::string MessageOf(const std::function<void(Program*)>& spoil) {
  Program program = Good();
  program.name = "Cell.vertex";
  spoil(&program);
  const Status status = VerifyProgram(program);
  EXPECT_EQ(status.ok(), status.code() != StatusCode::kInvalidArgument);
  return status.message();
}

Node& Find(Program* program, NodeKind kind) {
  for (Node& node : program->nodes) {
    if (node.kind == kind) return node;
  }
  ADD_FAILURE();
  return program->nodes[0];
}

TEST(VerifyProgramTest, AProgramAsItIsTracedIsAccepted) {
  EXPECT_EQ(MessageOf([](Program*) {}), "");
}

TEST(VerifyProgramTest, NamesTheOperatorAndWhatToDo) {
  const std::string message = MessageOf([](Program* program) {
    Node& node = Find(program, NodeKind::kMatMul);
    node.name = "dense/MatMul";
    node.op = "MatMul";
    node.inputs.pop_back();
  });
  EXPECT_EQ(message,
            "vertex function Cell.vertex: operator dense/MatMul (MatMul) got "
            "operands of other sizes or types but expected those that its "
            "kernel takes. Trace the vertex function again: it was changed "
            "since.");
}

TEST(VerifyProgramTest, OnlyBooleansBecomeMasks) {
  const auto message = [](const std::string& text) {
    Program program;
    EXPECT_TRUE(Parse(text, {}, &program).ok()) << text;
    return VerifyProgram(program).message();
  };
  const std::string given = "%0 = pull(0) : rows<4xbool>\n";
  EXPECT_EQ(message(given + "%1 = to_mask %0 : rows<4xf32>"), "");
  EXPECT_EQ(message(given + "%1 = to_mask %0 : rows<4xbf16>"), "");
  EXPECT_NE(message(given + "%1 = to_mask %0 : rows<3xf32>"), "");
  EXPECT_NE(message(given + "%1 = to_mask %0 : rows<4xi32>"), "");
  EXPECT_NE(message("%0 = pull(0) : rows<4xf32>\n"
                    "%1 = to_mask %0 : rows<4xf32>"),
            "");
}

TEST(VerifyProgramTest, RejectsRowsOfEdgesWhereThoseOfVerticesAre) {
  const auto message = [](const std::string& text) {
    Program program;
    EXPECT_TRUE(Parse(text, {}, &program).ok()) << text;
    return VerifyProgram(program).message();
  };
  const std::string given = R"(
    %0 = pull(0) : rows<4xf32>
    %1 = gather(-1) : edges<4xf32>
    %2 = pull(1) : edges<1xf32>
    @3 = capture(0) : invariant<4x4xf32>
  )";
  const std::string good[] = {
      "%4 = spread %0 : edges<4xf32>\n%5 = add %4, %1 : edges<4xf32>",
      "%4 = mul %1, %2 : edges<4xf32>",
      "%4 = matmul %1, @3 : edges<4xf32>\n%5 = weight_grad %1, %4 : "
      "sum<4x4xf32>",
      "%4 = sum_edges %1 : rows<4xf32>\nscatter %4",
      "%4 = max_edges %2 : rows<1xf32>",
      "gather_grad(-1) %1",
      "pull_grad(1) %2",
      "push(0) %1",
  };
  for (const std::string& nodes : good) {
    EXPECT_EQ(message(given + nodes), "") << nodes;
  }
  const std::string bad[] = {
      "%4 = add %0, %1 : edges<4xf32>",
      "%4 = add %0, %1 : rows<4xf32>",
      "%4 = tanh %1 : rows<4xf32>",
      "%4 = spread %1 : edges<4xf32>",
      "%4 = spread %0 : rows<4xf32>",
      "%4 = spread %0 : edges<3xf32>",
      "%4 = sum_edges %0 : rows<4xf32>",
      "%4 = sum_edges %1 : edges<4xf32>",
      "%4 = max_edges %1 : rows<1xf32>",
      "%4 = matmul %1, @3 : rows<4xf32>",
      "%4 = weight_grad %0, %1 : sum<4x4xf32>",
      "%4 = gather(0) : edges<4xf32>",
      "%4 = gather(-1) : rows<4xf32>",
      "scatter %1",
      "gather_grad(0) %1",
  };
  for (const std::string& nodes : bad) {
    EXPECT_NE(message(given + nodes), "") << nodes;
  }
}

TEST(VerifyProgramTest, RejectsWhatKernelsWouldReadOrWriteOutOfBounds) {
  const auto symbol_of = [](Program* program, NodeKind kind) -> Symbol& {
    const Node& node = Find(program, kind);
    return program
        ->symbols[node.outputs.empty() ? node.inputs[0] : node.outputs[0]];
  };
  const std::function<void(Program*)> spoilers[] = {
      // Sizes.
      [&](Program* p) { symbol_of(p, NodeKind::kPull).shape = {2}; },
      [&](Program* p) { symbol_of(p, NodeKind::kPull).shape = {-3}; },
      [&](Program* p) {
        symbol_of(p, NodeKind::kPull).shape = {int64_t{1} << 40, 1 << 20};
      },
      [&](Program* p) { symbol_of(p, NodeKind::kMatMul).shape = {5}; },
      [&](Program* p) { symbol_of(p, NodeKind::kElementwise).shape = {2}; },
      [&](Program* p) { symbol_of(p, NodeKind::kPush).offset = 3; },
      [&](Program* p) { symbol_of(p, NodeKind::kPush).offset = -1; },
      [&](Program* p) { symbol_of(p, NodeKind::kPush).offset = INT64_MAX; },
      // Types.
      [&](Program* p) {
        symbol_of(p, NodeKind::kGather).dtype = DType::kFloat64;
      },
      [&](Program* p) { symbol_of(p, NodeKind::kPull).dtype = DType::kOther; },
      // Kinds.
      [&](Program* p) {
        symbol_of(p, NodeKind::kGather).kind = SymbolKind::kOpaque;
      },
      [&](Program* p) {
        symbol_of(p, NodeKind::kMatMul).kind = SymbolKind::kReduced;
      },
      // Numbers.
      [&](Program* p) { Find(p, NodeKind::kGather).index = -1; },
      [&](Program* p) { Find(p, NodeKind::kMatMul).inputs[1] = 99; },
      [&](Program* p) { Find(p, NodeKind::kMatMul).inputs[1] = -1; },
      [&](Program* p) { p->results = {-3}; },
      [&](Program* p) { symbol_of(p, NodeKind::kPush).parent = 77; },
      [&](Program* p) {
        Symbol& view = symbol_of(p, NodeKind::kPush);
        view.parent = Find(p, NodeKind::kPush).inputs[0];
      },
      // Order.
      [&](Program* p) { std::swap(p->nodes.front(), p->nodes.back()); },
      [&](Program* p) { p->nodes.erase(p->nodes.begin()); },
      // Kernels.
      [&](Program* p) { Find(p, NodeKind::kMatMul).kind = NodeKind::kGroup; },
  };
  int i = 0;
  for (const auto& spoil : spoilers) {
    EXPECT_NE(MessageOf(spoil), "") << "spoiler " << i;
    ++i;
  }
}

TEST(VerifyProgramTest, ColumnsOfAMatrixAreReadByProductsAlone) {
  const auto verified = [](const std::string& view, const std::string& node) {
    const std::string text =
        "%0 = pull(0) : rows<2xf64>\n@1 = capture(0) : invariant<2x6xf64>\n"
        "@2 = view @1[" +
        view + "\n%3 = " + node + "\npush(0) %3\n";
    Program program;
    const Status status = Parse(text, {}, &program);
    EXPECT_TRUE(status.ok()) << status.message();
    return VerifyProgram(program).ok();
  };
  const std::string columns = "3:12 by 6] : invariant<2x3xf64>";
  const std::string product = "matmul %0, @2 : rows<3xf64>";
  EXPECT_TRUE(verified(columns, product));
  EXPECT_FALSE(verified("4:13 by 6] : invariant<2x3xf64>", product));
  EXPECT_FALSE(verified("3:12 by 7] : invariant<2x3xf64>", product));
  EXPECT_FALSE(verified("3:12 by 2] : invariant<2x3xf64>", product));
  EXPECT_FALSE(verified("3:12 by 6] : invariant<6xf64>", product));
  EXPECT_FALSE(verified(columns, "add %0, @2 : rows<6xf64>"));
}

// A program as passes leave it: with a product by two weights that adds to a
// value in memory, and a group.
Program Compiled() {
  Sketch f;
  const int h = f.Gather(0, 16), x = f.Pull(0, 16);
  std::vector<int> gates;
  for (int gate = 0; gate < 2; ++gate) {
    const int sum =
        f.Call(Elementwise::kAdd, f.MatMul(x, f.Capture(2 * gate, {16, 16})),
               f.MatMul(h, f.Capture(2 * gate + 1, {16, 16})));
    gates.push_back(f.Call(Elementwise::kTanh, sum));
  }
  f.Scatter(f.Call(Elementwise::kMul, gates[0], gates[1]));
  PassOptions options;
  options.verify = true;
  CompiledProgram program(f.program);
  const Status status = RunPasses(options, kCapabilities, &program);
  EXPECT_TRUE(status.ok()) << status.message();
  return program;
}

TEST(VerifyProgramTest, RejectsWhatNoPassMayLeave) {
  const auto product = [](Program* p) -> Node& {
    return *std::find_if(p->nodes.begin(), p->nodes.end(),
                         [](const Node& node) { return node.accumulate; });
  };
  const auto group = [](Program* p) -> Node& {
    return Find(p, NodeKind::kGroup);
  };
  const std::function<void(Program*)> spoilers[] = {
      [&](Program* p) { product(p).inputs.pop_back(); },
      [&](Program* p) {
        std::swap(product(p).inputs[0], product(p).inputs[1]);
      },
      // The product adds to, or the group reads, a value that has not been
      // written in full.
      [&](Program* p) { Find(p, NodeKind::kMatMul).stage = Stage::kLazy; },
      [&](Program* p) {
        Node& first = Find(p, NodeKind::kMatMul);
        first.inputs.pop_back();
        first.outputs = {group(p).inputs[0]};
      },
      [&](Program* p) { group(p).stage = Stage::kPrologue; },
      // Groups.
      [&](Program* p) { group(p).members.clear(); },
      [&](Program* p) { std::swap(group(p).members[0], group(p).members[2]); },
      [&](Program* p) { group(p).members[0].kind = NodeKind::kSumColumns; },
      [&](Program* p) { group(p).operands.pop_back(); },
      [&](Program* p) { group(p).group.instructions[0].x = 63; },
      [&](Program* p) { group(p).group.num_scratch = 64; },
  };
  EXPECT_TRUE(VerifyProgram(Compiled()).ok());
  int i = 0;
  for (const auto& spoil : spoilers) {
    Program program = Compiled();
    spoil(&program);
    EXPECT_EQ(VerifyProgram(program).code(), StatusCode::kInvalidArgument)
        << "spoiler " << i << "\n"
        << Print(program);
    ++i;
  }
}

TEST(VerifyProgramTest, APassThatLeavesNoProgramIsNamedWithWhatItLeft) {
  CompiledProgram program(Sketch().program);
  Program parsed;
  ASSERT_TRUE(Parse("program \"f\"\n"
                    "%0 = storage : rows<4xf32>\n"
                    "%1 = tanh %0 : rows<4xf32> {eager}",
                    {}, &parsed)
                  .ok());
  PassOptions options;
  options.verify = true;
  program = CompiledProgram(parsed);
  const Status status = RunPasses(options, kCapabilities, &program);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(),
            "pass classify: vertex function f: operator  () got operands of "
            "other sizes or types but expected values that were computed "
            "before. Trace the vertex function again: it was changed since.\n" +
                Print(parsed));
}

TEST(CheckedProductTest, IsNegativeWhereTheProductWouldWrapAround) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(CheckedProduct(Sizes{}), 1);
  EXPECT_EQ(CheckedProduct(Sizes{2, 3}), 6);
  EXPECT_EQ(CheckedProduct(Sizes{2, 0, 3}), 0);
  EXPECT_EQ(CheckedProduct(Sizes{kMostElements}), kMostElements);
  EXPECT_EQ(CheckedProduct(Sizes{kMostElements, 2}), -1);
  EXPECT_EQ(CheckedProduct(Sizes{INT64_MAX, INT64_MAX, 0}), -1);
  EXPECT_EQ(CheckedProduct(Sizes{-1, 3}), -1);
}

TEST(NoThrowTest, ExceptionsBecomeErrors) {
  const auto code_of = [](auto throws) {
    return NoThrow([&]() -> Status {
             throws();
             return Status();
           })
        .code();
  };
  EXPECT_EQ(code_of([] {}), StatusCode::kOk);
  EXPECT_EQ(code_of([] { throw std::bad_alloc(); }),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of([] { std::vector<int>().reserve(SIZE_MAX / 2); }),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of([] { std::vector<int>().at(1); }), StatusCode::kInternal);
  EXPECT_EQ(code_of([] { throw 1; }), StatusCode::kInternal);
}

}  // namespace
}  // namespace cavs

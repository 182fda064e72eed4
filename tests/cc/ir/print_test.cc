#include "cc/ir/print.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cc/ir/parse.h"
#include "cc/ir/passes/run_passes.h"
#include "tests/cc/exec/gated_slots.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/tree_lstm.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

Status Read(const std::string& text, Program* program) {
  return Parse(text, {}, program);
}

// Parses a program and prints it again.
std::string Again(const std::string& text) {
  Program program;
  const Status status = Read(text, &program);
  return status.ok() ? Print(program) : status.message();
}

void ExpectSameGroup(const Node& a, const Node& b) {
  EXPECT_EQ(a.operands, b.operands);
  EXPECT_EQ(a.group.num_operands, b.group.num_operands);
  EXPECT_EQ(a.group.num_scratch, b.group.num_scratch);
  ASSERT_EQ(a.group.instructions.size(), b.group.instructions.size());
  for (size_t i = 0; i < a.group.instructions.size(); ++i) {
    const ElementwiseGroup::Instruction &s = a.group.instructions[i],
                                        &t = b.group.instructions[i];
    EXPECT_EQ(std::make_tuple(s.op, s.x, s.y, s.out, s.then, s.z),
              std::make_tuple(t.op, t.x, t.y, t.out, t.then, t.z));
  }
}

// Expects that parsing restores all that Print() shows, and what is derived
// from it.
void ExpectParses(const Program& program) {
  const std::string text = Print(program);
  SCOPED_TRACE(text);
  Program parsed;
  const Status status = Parse(text, Constants(program), &parsed);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Print(parsed), text);
  ASSERT_EQ(parsed.nodes.size(), program.nodes.size());
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    ExpectSameGroup(parsed.nodes[i], program.nodes[i]);
  }
}

TEST(PrintTest, AProgramReadsLikeThis) {
  Sketch f(DType::kFloat32);
  f.program.name = "Cell.vertex";
  const int both = f.Gather(0, 8), w = f.Capture(0, {4, 4});
  f.program.symbols[w].name = "kernel";
  const int product = f.MatMul(f.View(both, 4, 4), w, /*transpose=*/true);
  f.Name("dense/MatMul");
  f.program.nodes.back().op = "MatMul";
  const int out = f.Call(Elementwise::kTanh, product);
  f.Scatter(f.Concat({out, f.Pull(1, 4)}));
  f.program.results = {out, w};
  EXPECT_EQ(Print(f.program), R"(program "Cell.vertex"
  %0 = gather(0) : rows<8xf32>  {critical}
  %2 = view %0[4:8] : rows<4xf32>
  @1 = capture(0) : invariant<4x4xf32> as "kernel"
  %3 = matmul %2, @1 : rows<4xf32>  {critical, transpose}  "dense/MatMul" MatMul
  %6 = storage : rows<8xf32>
  %4 = tanh %3 : rows<4xf32> in %6[0:4]  {critical}
  %5 = pull(1) : rows<4xf32> in %6[4:8]  {critical}
  scatter %6  {critical}
  results %4, @1
)");
}

TEST(PrintTest, ColumnsOfAMatrixAreWrittenWithTheDistanceOfItsRows) {
  const std::string text = R"(  %0 = pull(0) : rows<2xf64>  {critical}
  @1 = capture(0) : invariant<2x6xf64>
  @2 = view @1[3:12 by 6] : invariant<2x3xf64>
  %3 = matmul %0, @2 : rows<3xf64>  {critical}
  push(0) %3  {critical}
)";
  EXPECT_EQ(Again(text), text);
}

TEST(PrintTest, GroupsShowTheirMembersAndConstantsTheirValues) {
  Sketch f(DType::kFloat32);
  const int half = f.Invariant({});
  const float value = 0.5;
  auto constant = std::make_shared<TensorRef>();
  constant->dtype = DType::kFloat32;
  constant->data = const_cast<float*>(&value);
  f.program.symbols[half].source = SymbolSource::kConstant;
  f.program.symbols[half].constant = constant;
  const int h = f.Gather(0, 4);
  f.Scatter(f.Call(Elementwise::kTanh, f.Call(Elementwise::kMul, h, half)));
  CompiledProgram program(f.program);
  ASSERT_TRUE(RunPasses({}, kCapabilities, &program).ok());
  EXPECT_EQ(Print(program), R"(  %1 = gather(0) : rows<4xf32>  {critical}
  @0 = constant(0) : invariant<f32>  // [0.5]
  %3 = group %1, @0  {critical}  "" Group
    %2 = mul %1, @0 : rows<4xf32>
    %3 = tanh %2 : rows<4xf32>
  end
  scatter %3  {critical}
)");
  ExpectParses(program);
}

TEST(PrintTest, ParseIsItsInverseOnEveryRandomProgram) {
  for (uint32_t seed = 0; seed < NumSeeds(60); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Cell cell = RandomCell(DType::kFloat32, 2, &random);
    for (const auto& programs : {cell.forward, cell.backward}) {
      for (const Program& program : programs) {
        ExpectParses(program);
        CompiledProgram compiled(program);
        ASSERT_TRUE(RunPasses({}, kCapabilities, &compiled).ok());
        ExpectParses(compiled);
      }
    }
    if (HasFailure()) return;
  }
}

TEST(PrintTest, ParseIsItsInverseOnEveryCell) {
  TreeLstm cell(DType::kFloat64, 5, 3, nullptr);
  for (const Program& program :
       {cell.Forward(), cell.Backward(), GatedSlots(3)}) {
    ExpectParses(program);
    CompiledProgram compiled(program);
    ASSERT_TRUE(RunPasses({}, kCapabilities, &compiled).ok());
    ExpectParses(compiled);
  }
}

TEST(PrintTest, EveryFieldOfSymbolsAndNodesIsReadAgain) {
  const std::string text = R"(program "with \"quotes\" and \\"
  %4 = pull_grad(1) : opaque<other>  {eager}
  %1 = saved(3) : rows<bf16>
  @0 = capture(2) : invariant<?xf32> as "anything"
  %2 = row_count [1, 0], [-3, 7] : count<2xi64>
  %5, %6 = foreign %1, @0, %2 : rows<2x3xf64> as "first", rows<bool>  {lazy}  "top" "Custom>Op"
  %7 = sum_rows %5 : sum<2x3xf64>  {lazy}
  %8 = foreign %7, %7 : sum<3xi8> in %9[3:6]  {epilogue, adds}
  %3 = matmul %1, @0 : rows<f16>  {critical, transpose, accumulate, merged("a", "b")}
  results %8
)";
  EXPECT_EQ(Again(text).substr(0, 40),
            "program: got symbol 9 without a type but");
  const std::string whole = "  %9 = storage : sum<6xi8>\n";
  std::string complete = text;
  complete.insert(complete.find("  %8 ="), whole);
  EXPECT_EQ(Again(complete), complete);
}

TEST(PrintTest, SymbolsThatNothingNamesLeaveAGap) {
  Program program;
  ASSERT_TRUE(Read("program \"\"\n%3 = pull(0) : rows<f32>", &program).ok());
  ASSERT_EQ(program.symbols.size(), 4u);
  EXPECT_EQ(program.symbols[0].kind, SymbolKind::kOpaque);
  EXPECT_EQ(Print(program), "  %3 = pull(0) : rows<f32>  {critical}\n");
}

TEST(PrintTest, CommentsAndSpacesMeanNothing) {
  EXPECT_EQ(Again("program   \"f // g\"  // a comment\n\n"
                  "   // another\n%0=zero:rows<f32>{eager}// and one\n"),
            "program \"f // g\"\n  %0 = zero : rows<f32>  {eager}\n");
}

TEST(PrintTest, WhatCannotBeReadIsRejectedWithItsLine) {
  const std::string tail = ". Write it as Print() does.";
  const auto message = [](const std::string& got, int line,
                          const std::string& expected) {
    return "program: got " + got + " in line " + std::to_string(line) +
           " but expected " + expected + ". Write it as Print() does.";
  };
  const std::string first = "%0 = pull(0) : rows<f32>\n";
  EXPECT_EQ(Again("%0 = pool(0) : rows<f32>"),
            message("\"pool\"", 1, "the name of an operator"));
  EXPECT_EQ(Again(first + "scatter % {critical}"),
            message("\"{critical}\"", 2, "a number"));
  EXPECT_EQ(Again(first + "scatter %0 {late}"), message("\"}\"", 2, "a stage"));
  EXPECT_EQ(Again("%0 = pull(0) : rows<f31>"),
            message("the end of the line", 1, "an element type"));
  EXPECT_EQ(Again("%0 = pull(0) : columns<f32>"),
            message("\"f32>\"", 1, "a kind of rows"));
  EXPECT_EQ(Again("%0 = pull(0) : rows"), message("\"rows\"", 1, "a type"));
  EXPECT_EQ(Again("%0 = view : rows<f32>"),
            message("\": rows<f32>\"", 1, "a symbol"));
  EXPECT_EQ(Again("%0 = constant(0) : invariant<f32>"),
            message("\") : invariant<f32>\"", 1,
                    "the number of a constant that was given"));
  EXPECT_EQ(Again("%99999999 = zero : rows<f32>"),
            message("\"99999999 = zero : rows<f32>\"", 1, "a smaller number"));
  EXPECT_EQ(Again("program cell"), message("\"cell\"", 1, "a name in quotes"));
  EXPECT_EQ(Again(first + "scatter %0, %0 twice"),
            message("\"twice\"", 2, "the end of the line"));
  EXPECT_EQ(Again("end"), message("the end of the line", 1, "a group before"));
  EXPECT_EQ(Again(first + "%1 = group %0\n%1 = neg %0 : rows<f32>"),
            message("the end of the text", 4, "end"));
  EXPECT_EQ(Again(first + "%1 = group %0\n%1 = group %0"),
            message("the end of the line", 3, "no group within a group"));
}

}  // namespace
}  // namespace cavs

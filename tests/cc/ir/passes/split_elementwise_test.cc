#include "cc/ir/passes/split_elementwise.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using E = Elementwise;

// z = x + b, of which a test reads pieces.
class SplitElementwiseTest : public testing::Test {
 protected:
  SplitElementwiseTest() {
    x_ = f_.Gather(0, 12);
    b_ = f_.Capture(0, {12});
    z_ = f_.Call(E::kAdd, x_, b_);
  }
  void Read(int id) { f_.Push(num_read_++, id); }
  size_t NumSums() {
    SplitElementwise(&f_.program);
    size_t sums = 0;
    for (const Node& node : f_.program.nodes) {
      sums +=
          node.kind == NodeKind::kElementwise && node.elementwise == E::kAdd;
    }
    return sums;
  }
  void ExpectPiece(int id, int parent, int64_t offset, int64_t columns) {
    const Symbol& s = f_.program.symbols[id];
    EXPECT_EQ(s.parent, parent);
    EXPECT_EQ(s.offset, offset);
    EXPECT_EQ(s.columns(), columns);
  }

  Sketch f_;
  int x_, b_, z_, num_read_ = 0;
};

TEST_F(SplitElementwiseTest, AnOperatorThatIsReadPieceByPieceIsSplit) {
  const int right = f_.View(z_, 6, 6), left = f_.View(z_, 0, 6);
  Read(right);
  Read(left);
  EXPECT_EQ(NumSums(), 2u);
  const Node &first = f_.program.nodes[1], &second = f_.program.nodes[2];
  EXPECT_EQ(first.outputs, std::vector<int>{left});
  EXPECT_EQ(second.outputs, std::vector<int>{right});
  ExpectPiece(first.inputs[0], x_, 0, 6);
  ExpectPiece(first.inputs[1], b_, 0, 6);
  ExpectPiece(second.inputs[0], x_, 6, 6);
  ExpectPiece(second.inputs[1], b_, 6, 6);
  EXPECT_EQ(f_.program.symbols[first.inputs[1]].kind, SymbolKind::kInvariant);
}

TEST_F(SplitElementwiseTest, PiecesThatNobodyReadsAreNotComputed) {
  Read(f_.View(z_, 4, 4));
  EXPECT_EQ(NumSums(), 1u);
  ExpectPiece(f_.program.nodes[1].inputs[0], x_, 4, 4);
}

TEST_F(SplitElementwiseTest, ItsOperandsAreSplitInTurn) {
  const int scaled = f_.Call(E::kAdd, z_, x_);
  const int same = f_.View(z_, 6, 6);  // Used rather than made again.
  Read(f_.View(scaled, 0, 6));
  Read(f_.View(scaled, 6, 6));
  EXPECT_EQ(NumSums(), 4u);
  EXPECT_EQ(f_.program.nodes[2].outputs, std::vector<int>{same});
  EXPECT_EQ(f_.program.nodes[4].inputs[0], same);
}

TEST_F(SplitElementwiseTest, OneElementStandsForAllPieces) {
  const int scale = f_.Capture(1, {1});
  const int y = f_.Call(E::kMul, x_, scale);
  Read(f_.View(y, 0, 6));
  Read(f_.View(y, 6, 6));
  Read(z_);
  SplitElementwise(&f_.program);
  ASSERT_EQ(f_.program.nodes.size(), 1u + 1 + 2 + 3);
  EXPECT_EQ(f_.program.nodes[2].inputs[1], scale);
  EXPECT_EQ(f_.program.nodes[3].inputs[1], scale);
}

TEST_F(SplitElementwiseTest, WhatIsReadAsAWholeStaysWhole) {
  Read(f_.View(z_, 0, 6));
  Read(f_.View(z_, 6, 6));
  Read(z_);
  EXPECT_EQ(NumSums(), 1u);
}

TEST_F(SplitElementwiseTest, WhatIsOnTheTapeAsAWholeStaysWhole) {
  Read(f_.View(z_, 0, 6));
  f_.program.results = {z_};
  EXPECT_EQ(NumSums(), 1u);
  EXPECT_EQ(f_.program.nodes[1].outputs, std::vector<int>{z_});
}

TEST_F(SplitElementwiseTest, APieceOnTheTapeIsComputed) {
  f_.program.results = {f_.View(z_, 6, 6)};
  Read(f_.View(z_, 0, 6));
  EXPECT_EQ(NumSums(), 2u);
}

TEST_F(SplitElementwiseTest, PiecesOfSeveralWidthsStayTogether) {
  Read(f_.View(z_, 0, 4));
  Read(f_.View(z_, 4, 8));
  EXPECT_EQ(NumSums(), 1u);
}

TEST_F(SplitElementwiseTest, OverlappingPiecesStayTogether) {
  Read(f_.View(z_, 0, 6));
  Read(f_.View(z_, 3, 6));
  EXPECT_EQ(NumSums(), 1u);
}

TEST_F(SplitElementwiseTest, APieceWithoutElementsDoesNotCount) {
  Read(f_.View(z_, 6, 0));
  Read(f_.View(z_, 0, 6));
  Read(f_.View(z_, 6, 6));
  EXPECT_EQ(NumSums(), 2u);
}

TEST_F(SplitElementwiseTest, ReadWithoutElementsItStaysTogether) {
  Read(f_.View(z_, 6, 0));
  EXPECT_EQ(NumSums(), 1u);
}

TEST_F(SplitElementwiseTest, TwoNamesOfOnePieceStayTogether) {
  Read(f_.View(z_, 0, 6));
  Read(f_.View(z_, 0, 6));
  Read(f_.View(z_, 6, 6));
  EXPECT_EQ(NumSums(), 1u);
}

TEST_F(SplitElementwiseTest, PiecesOfPiecesStayTogether) {
  Read(f_.View(f_.View(z_, 0, 6), 0, 3));
  EXPECT_EQ(NumSums(), 1u);
}

TEST_F(SplitElementwiseTest, APieceOfAConcatenationIsNotSplit) {
  Read(f_.View(z_, 0, 6));
  Read(f_.View(z_, 6, 6));
  f_.Concat({z_, x_});
  EXPECT_EQ(NumSums(), 1u);
}

TEST_F(SplitElementwiseTest, ASumInPlaceIsNotSplit) {
  f_.Node(NodeKind::kElementwise, {z_, x_}, z_);
  f_.program.nodes.back().elementwise = E::kAdd;
  Read(f_.View(z_, 0, 6));
  Read(f_.View(z_, 6, 6));
  EXPECT_EQ(NumSums(), 2u);
}

}  // namespace
}  // namespace cavs

#include "cc/schedule/graph_batch.h"

#include <gtest/gtest.h>

#include <vector>

namespace cavs {
namespace {

// Owns the memory of a GraphBatchView.
struct Batch {
  std::vector<int32_t> child_splits, child_ids, graph_splits, vertex_type;

  GraphBatchView view() const {
    return {child_splits, child_ids, graph_splits, vertex_type};
  }
  std::string Error(int arity = 2, int num_types = 1) const {
    return view().Validate(arity, num_types).message();
  }
};

// Two trees, 2 -> (0, 1) and 5 -> (3, missing), with an empty graph between
// them. Vertex 4 of the second one has no parent and no child.
Batch Example() {
  return {{0, 0, 0, 2, 2, 2, 4}, {0, 1, 3, -1}, {0, 3, 3, 6}, {}};
}

TEST(GraphBatchTest, AcceptsTreesMissingChildrenAndEmptyGraphs) {
  EXPECT_EQ(Example().Error(), "");
  EXPECT_EQ(Example().view().num_vertices(), 6);
  EXPECT_EQ(Example().view().num_graphs(), 3);
}

TEST(GraphBatchTest, AcceptsAnEmptyMinibatch) {
  EXPECT_EQ((Batch{{0}, {}, {0}, {}}).Error(), "");
  EXPECT_EQ((Batch{{0}, {}, {0}, {}}).Error(/*arity=*/0), "");
}

TEST(GraphBatchTest, FindsTheGraphOfAVertexBesideEmptyGraphs) {
  const Batch batch = {{0, 0, 0, 0}, {}, {0, 0, 1, 1, 3, 3}, {}};
  EXPECT_EQ(batch.view().GraphOf(0), 1);
  EXPECT_EQ(batch.view().GraphOf(1), 3);
  EXPECT_EQ(batch.view().GraphOf(2), 3);
}

TEST(GraphBatchTest, RejectsNoSplits) {
  Batch batch = Example();
  batch.child_splits = {};
  EXPECT_EQ(batch.Error(),
            "child_splits: got no values but expected at least one, one more "
            "than there are vertices. Pass [0] for no vertices.");
  batch = Example();
  batch.graph_splits = {};
  EXPECT_EQ(batch.Error(),
            "graph_splits: got no values but expected at least one, one more "
            "than there are graphs. Pass [0] for no graphs.");
}

TEST(GraphBatchTest, RejectsSplitsThatDoNotStartAtZero) {
  Batch batch = Example();
  batch.graph_splits[0] = 1;
  EXPECT_EQ(batch.Error(),
            "graph_splits[0]: got 1 but expected 0. The first list starts at "
            "the beginning of the vertices.");
}

TEST(GraphBatchTest, RejectsSplitsThatDescend) {
  Batch batch = Example();
  batch.child_splits[4] = 1;
  EXPECT_EQ(batch.Error(),
            "child_splits[4]: got 1 but expected at least child_splits[3] = 2. "
            "Splits never descend.");
}

TEST(GraphBatchTest, RejectsSplitsThatEndElsewhere) {
  Batch batch = Example();
  batch.child_splits[6] = 5;
  EXPECT_EQ(batch.Error(),
            "child_splits[6]: got 5 but expected 4. The last list ends at the "
            "end of child_ids.");
  batch = Example();
  batch.graph_splits[3] = 5;
  EXPECT_EQ(batch.Error(),
            "graph_splits[3]: got 5 but expected 6. The last list ends at the "
            "end of the vertices.");
}

TEST(GraphBatchTest, RejectsAnIdOutOfRange) {
  Batch batch = Example();
  for (int32_t id : {-2, 6, INT32_MAX, INT32_MIN}) {
    batch.child_ids[2] = id;
    EXPECT_EQ(batch.Error(),
              StrCat("children[2][2][0]: got ", id,
                     " but expected -1 (no child) or a vertex of the same "
                     "graph, [3, 6). Graph 2 has 3 vertices; ids are absolute "
                     "in the minibatch."));
  }
}

TEST(GraphBatchTest, RejectsAChildInAnotherGraph) {
  Batch batch = Example();
  batch.child_ids[1] = 4;
  EXPECT_EQ(batch.Error(),
            "children[0][2][1]: got 4 but expected -1 (no child) or a vertex "
            "of the same graph, [0, 3). Graph 0 has 3 vertices; ids are "
            "absolute in the minibatch. 4 is vertex 1 of graph 2.");
  batch = Example();
  batch.child_ids[3] = 2;
  EXPECT_EQ(batch.Error(),
            "children[2][2][1]: got 2 but expected -1 (no child) or a vertex "
            "of the same graph, [3, 6). Graph 2 has 3 vertices; ids are "
            "absolute in the minibatch. 2 is vertex 2 of graph 0.");
}

TEST(GraphBatchTest, RejectsMoreChildrenThanArity) {
  EXPECT_EQ(Example().Error(/*arity=*/1),
            "children[0][2]: got 2 children but expected at most 1, the arity "
            "of the vertex function. Raise its arity, or give the vertex fewer "
            "children.");
}

TEST(GraphBatchTest, RejectsATypeWithoutFunction) {
  Batch batch = Example();
  batch.vertex_type = {0, 1, 0, 1, 0, 1};
  EXPECT_EQ(batch.Error(/*arity=*/2, /*num_types=*/2), "");
  batch.vertex_type[4] = 2;
  EXPECT_EQ(batch.Error(/*arity=*/2, /*num_types=*/2),
            "vertex_type[2][1]: got 2 but expected a type with a vertex "
            "function, [0, 2). Add a vertex function for it, or correct the "
            "type.");
  batch.vertex_type[4] = -1;
  EXPECT_NE(batch.Error(/*arity=*/2, /*num_types=*/2), "");
}

TEST(GraphBatchTest, RejectsTypesOfAnotherLength) {
  Batch batch = Example();
  batch.vertex_type = {0, 0};
  EXPECT_EQ(batch.Error(),
            "vertex_type: got 2 values but expected 6, one per vertex. Pass "
            "none if all vertices are of type 0.");
}

TEST(GraphBatchTest, RejectsImpossibleArityAndTypes) {
  EXPECT_EQ(Example().Error(/*arity=*/-1),
            "arity: got -1 but expected at least 0. It is the number of slots "
            "that the vertex function gathers from.");
  EXPECT_EQ(Example().Error(/*arity=*/2, /*num_types=*/0),
            "num_types: got 0 but expected at least 1. It is the number of "
            "vertex functions.");
}

}  // namespace
}  // namespace cavs

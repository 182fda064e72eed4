#include "cc/ir/passes/classify.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cc/ir/foreign_op.h"
#include "cc/ir/program.h"
#include "tests/cc/exec/tree_lstm.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

using Names = std::set<std::string>;

// The stage of every node, in order: "eager critical lazy".
std::string Stages(Program program, ClassifyOptions options = {}) {
  const Status status = Classify(options, &program);
  if (!status.ok()) return status.message();
  std::string stages;
  for (const Node& node : program.nodes) {
    stages += (stages.empty() ? "" : " ") + std::string(ToString(node.stage));
  }
  return stages;
}

// The names of the nodes of each stage.
std::map<std::string, Names> NamesByStage(Program program) {
  const Status status = Classify({}, &program);
  EXPECT_TRUE(status.ok()) << status.message();
  std::map<std::string, Names> names;
  for (const Node& node : program.nodes) {
    names[ToString(node.stage)].insert(node.name);
  }
  return names;
}

TEST(ClassifyTest, SwitchesMakeOperatorsCriticalAndNothingElse) {
  Sketch f;
  const int w = f.Foreign(nullptr, {f.Capture(0, {4})}, f.Invariant({4}));
  const int h = f.Gather(0, 4);
  f.Scatter(f.Call(Elementwise::kMul, h, w));
  f.Push(0, f.Pull(0, 4));
  f.Push(1, h);
  EXPECT_EQ(Stages(f.program),
            "prologue critical critical critical eager eager lazy");
  ClassifyOptions options;
  options.eager = false;
  EXPECT_EQ(Stages(f.program, options),
            "prologue critical critical critical critical critical lazy");
  options.lazy = false;
  EXPECT_EQ(Stages(f.program, options),
            "prologue critical critical critical critical critical critical");
  options.eager = true;
  EXPECT_EQ(Stages(f.program, options),
            "prologue critical critical critical eager eager critical");
}

TEST(ClassifyTest, JoiningRowsWithASumOverRowsIsRejected) {
  Sketch f;
  const int x = f.Pull(0, 4);
  const int mean = f.SumRows(x);
  f.Foreign(nullptr, {x, mean}, f.Rows(4));
  f.Name("center");
  f.program.nodes.back().op = "Sub";
  const Status status = Classify({}, &f.program);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "vertex function: operator center (Sub) joins rows with a sum over "
            "rows but expected rows to be independent. Compute what depends on "
            "several vertices outside of the vertex function.");
}

TEST(ClassifyTest, AnEmptyProgramIsValid) { EXPECT_EQ(Stages(Program()), ""); }

// The colours are those of figure 7 of arXiv:1712.04048.
TEST(ClassifyTest, TreeLstmHasTheColoursOfThePaper) {
  const auto names =
      NamesByStage(TreeLstm(DType::kFloat32, 5, 3, nullptr).Forward());
  EXPECT_EQ(names, (std::map<std::string, Names>{
                       {"eager", {"pull", "x W", "x W + b"}},
                       {"critical",
                        {"gather", "h0 + h1", "h U", "z", "gate", "f c", "i u",
                         "c", "tanh c", "h", "scatter"}},
                       {"lazy", {"push"}}}));
}

// Only its place in a program matters.
class NeverRun : public ForeignOp {
 public:
  Status Run(void*, const std::vector<TensorRef>&,
             std::vector<TensorRef>*) const override {
    return Status();
  }
};

TEST(ClassifyTest, TheDerivativeOfTreeLstmHasTheColoursOfThePaper) {
  const auto names = NamesByStage(
      TreeLstm(DType::kFloat32, 5, 3, std::make_shared<NeverRun>()).Backward());
  EXPECT_EQ(
      names,
      (std::map<std::string, Names>{
          {"eager", {"push grad"}},
          {"critical",
           {"scatter grad", "dh", "dtanh", "through tanh", "dc", "dgate", "dz",
            "dz U'", "dh0 + dh1", "dck", "dhk", "gather grad"}},
          {"lazy", {"df0 + df1", "dz W'", "dx", "pull grad", "dW", "dU", "db"}},
          {"epilogue", {"dU0 + dU1"}}}));
}

TEST(ClassifyTest, StagesHaveNames) {
  EXPECT_STREQ(ToString(Stage::kPrologue), "prologue");
  EXPECT_STREQ(ToString(Stage::kEager), "eager");
  EXPECT_STREQ(ToString(Stage::kCritical), "critical");
  EXPECT_STREQ(ToString(Stage::kLazy), "lazy");
  EXPECT_STREQ(ToString(Stage::kEpilogue), "epilogue");
}

}  // namespace
}  // namespace cavs

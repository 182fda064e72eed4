// What passes make of programs, as text: see the .txt files beside this one,
// one for each pass. A case is a claim and a program; then, after ---, what the
// pass makes of it, unless that is the same. To write down what the passes make
// now, and look at the difference:
//
//   CAVS_UPDATE_GOLDEN=1 tools/bazel.sh run //tests/cc:ir/passes/golden_test
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "cc/ir/parse.h"
#include "cc/ir/passes/classify.h"
#include "cc/ir/passes/find_zeros.h"
#include "cc/ir/passes/fuse_elementwise.h"
#include "cc/ir/passes/merge_duplicates.h"
#include "cc/ir/passes/merge_matmuls.h"
#include "cc/ir/passes/merge_sums.h"
#include "cc/ir/passes/remove_unused.h"
#include "cc/ir/passes/specialize.h"
#include "cc/ir/passes/split_elementwise.h"
#include "cc/ir/passes/split_products.h"
#include "cc/ir/passes/spread_products.h"
#include "cc/ir/print.h"
#include "cc/ir/verify.h"
#include "tests/cc/ir/sketch.h"

namespace cavs {
namespace {

// Classifies a program again, whatever stages its nodes have.
void ClassifyAgain(Program* program) {
  for (Node& node : program->nodes) node.stage = Stage::kCritical;
  const Status status = Classify({}, program);
  EXPECT_TRUE(status.ok()) << status.message();
}

// The program with the findings of FindZeros() as comments.
std::string PrintZeros(const Program& program) {
  CompiledProgram compiled(program);
  compiled.zeros = FindZeros(compiled);
  return Print(compiled);
}

std::string PrintAll(const Program& program) { return Print(program); }

void LeaveAsItIs(Program*) {}

void Merge(Program* program) {
  MergeSumsOverRows(program);
  MergeSumsOfProducts(program);
  MergeMatMuls(kCapabilities, program);
}

void SpecializeFor(VertexTraits traits, Program* program) {
  traits.of_children = {9};  // Which slots have a child.
  *program = cavs::Specialize(*program, nullptr, traits).function;
}

void SpecializeLeaves(Program* program) {
  VertexTraits traits;
  traits.childless = true;
  SpecializeFor(traits, program);
}

void SpecializeParents(Program* program) {
  VertexTraits traits;
  traits.all_children = true;
  SpecializeFor(traits, program);
}

struct Pass {
  const char* name;
  bool rewrites;  // False: a case is one text, which shows the findings.
  void (*run)(Program*);
  std::string (*print)(const Program&) = PrintAll;
};

// GoogleTest calls it to name tests.
void PrintTo(const Pass& pass, std::ostream* out) { *out << pass.name; }

struct Case {
  std::string claim, before, after;
};

constexpr char kClaim[] = "=== ", kAfter[] = "---";

std::vector<Case> ReadCases(const std::string& path) {
  std::vector<Case> cases;
  std::ifstream file(path);
  std::string* part = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(kClaim, 0) == 0) {
      cases.push_back({line.substr(sizeof(kClaim) - 1), "", ""});
      part = &cases.back().before;
    } else if (line == kAfter) {
      part = &cases.back().after;
    } else if (part != nullptr && !line.empty()) {
      *part += line + "\n";
    }
  }
  for (Case& c : cases) {
    if (c.after.empty()) c.after = c.before;
  }
  return cases;
}

void WriteCases(const std::vector<Case>& cases, const std::string& path) {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  std::ofstream file(workspace == nullptr ? path : workspace + ("/" + path));
  const char* gap = "";
  for (const Case& c : cases) {
    file << gap << kClaim << c.claim << "\n" << c.before;
    if (c.after != c.before) file << kAfter << "\n" << c.after;
    gap = "\n";
  }
}

// In these programs constant(0) is the number zero.
Program Parsed(const std::string& text) {
  Program program;
  Sketch zero;
  const int id = zero.ScalarZero();
  Status status = Parse(text, {zero.program.symbols[id].constant}, &program);
  if (status.ok()) status = VerifyProgram(program);
  EXPECT_TRUE(status.ok()) << status.message() << "\n" << text;
  return program;
}

class GoldenTest : public testing::TestWithParam<Pass> {};

TEST_P(GoldenTest, ResultsAreThoseInTheFile) {
  const std::string path =
      std::string("tests/cc/ir/passes/") + GetParam().name + ".txt";
  const bool update = std::getenv("CAVS_UPDATE_GOLDEN") != nullptr;
  std::vector<Case> cases = ReadCases(path);
  EXPECT_FALSE(cases.empty()) << path;
  for (Case& c : cases) {
    SCOPED_TRACE(c.claim);
    Program program = Parsed(c.before);
    const std::string before = PrintAll(program);
    GetParam().run(&program);
    const Status status = VerifyProgram(program);
    EXPECT_TRUE(status.ok()) << status.message();
    const std::string after = GetParam().print(program);
    EXPECT_TRUE(update || after == c.after) << after << "instead of\n"
                                            << c.after;
    c.before = before;
    c.after = after;
    if (!GetParam().rewrites) c.before = after;
  }
  if (update) WriteCases(cases, path);
}

INSTANTIATE_TEST_SUITE_P(
    Passes, GoldenTest,
    testing::Values(Pass{"classify", false, ClassifyAgain},
                    Pass{"find_zeros", false, LeaveAsItIs, PrintZeros},
                    Pass{"split_products", true, SplitProducts},
                    Pass{"spread_products", true, SpreadProducts},
                    Pass{"specialize", true, SpecializeLeaves},
                    Pass{"specialize_parents", true, SpecializeParents},
                    Pass{"merge_duplicates", true, MergeDuplicates},
                    Pass{"remove_unused", true, RemoveUnused},
                    Pass{"remove_unused_symbols", true, RemoveUnusedSymbols},
                    Pass{"factor_sums", true, FactorSums},
                    Pass{"merge_matmuls", true, Merge},
                    Pass{"split_elementwise", true, SplitElementwise},
                    Pass{"fuse_elementwise", true, FuseElementwise}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cavs

// The vertex functions of a model, compiled for a device.
#ifndef CAVS_CC_EXEC_MODEL_H_
#define CAVS_CC_EXEC_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/device.h"
#include "cc/ir/compiled_program.h"
#include "cc/ir/passes/run_passes.h"
#include "cc/ir/passes/specialize.h"
#include "cc/schedule/row_plan.h"

namespace cavs {

// One compiled program per vertex type, followed by variants of some of them,
// and one state for all.
struct Model {
  Model() = default;
  Model(const Model&) = delete;  // Executables point to the programs.
  Model& operator=(const Model&) = delete;

  std::vector<CompiledProgram> programs;
  std::vector<std::unique_ptr<Executable>> executables;
  int num_types = 0;
  std::vector<int> type_of;  // By program: its vertex type.
  // The programs for tasks with some traits: see AddVariants(). -1 if there is
  // none for those traits and that type.
  ProgramTable variants;
  // By program: the captures, the pulls and whether the gradients from outside
  // must be finite for a variant.
  std::vector<std::map<int, CaptureRange>> finite_captures;
  std::vector<std::set<int>> finite_pulls;
  std::vector<bool> finite_gradients;
  // The inputs that not every vertex has.
  std::set<int> partial_pulls;
  // Whether some program has rows of edges, and the inputs and outputs that
  // have such rows.
  bool reads_edges = false;
  std::set<int> edge_pulls, edge_pushes;
  const Device* device = nullptr;
  DType state_dtype = DType::kFloat32;
  int64_t state_columns = 0;
  // Whether two streams would write to the same memory at the same time: to a
  // sum over rows that critical and other nodes form; or, where a row of the
  // state is gathered twice, to its gradient.
  bool streams_share_sums = false, streams_share_state = false;
  // One more than the largest slot that programs gather from or send gradients
  // to.
  int64_t num_slots = 0;
  // By program: whether it computes something from weights alone.
  std::vector<bool> computes_weights;
  // By program: how often it gathers, or sends gradients back.
  std::vector<GatherCounts> gathers;
  // Derivatives: by type and result of its program, the number of the capture
  // whose gradient the result is. It is the number of the result, unless the
  // caller sets another one.
  std::vector<std::vector<int>> result_captures;
  // By program: the results of the type's program that a variant has. In
  // derivatives: for each result of a variant, the part that it is of a result
  // of the type's program.
  std::vector<std::vector<int>> kept;
  std::vector<std::vector<ResultPart>> parts;
  // Derivatives: by program and symbol, the symbol of the type's program that
  // is the same sum: see ShareSums(). Empty for the type's program.
  std::vector<std::vector<int>> shared_sums;

  bool is_variant(int program) const { return program >= num_types; }
  // The values of a program on the tape are numbered as those of the type's
  // program. A variant has some of them.
  size_t NumSaved(int program) const {
    return programs[type_of[program]].results.size();
  }
  // The number on the tape of a program's result.
  int SavedNumber(int program, size_t result) const {
    return is_variant(program) ? kept[program][result]
                               : static_cast<int>(result);
  }
};

// The inputs that not every vertex has, and which of the derivative's outputs
// are their gradients; and the inputs that VertexTraits::of_children names.
struct PartialPulls {
  std::set<int> pulls, grads;
  std::set<int> of_children = {};
};

// Makes a model of traced programs, which move into it, and another of their
// derivatives, if there are any: runs the passes, makes variants, takes slots
// and the state's type and width from the programs' scatters (in a
// derivative: from scatter's gradient), checks that gathers and types agree
// with it, and compiles for `device`, which must outlive the model. Fails as
// RunPasses() does; kInvalidArgument if types disagree about the state;
// kUnimplemented if gradients of the state's type cannot be added.
Status CompileModel(std::vector<Program> traced,
                    std::vector<Program> derivatives,
                    const PartialPulls& partial, const PassOptions& options,
                    const Device* device, Model* model, Model* derivative);

// Without variants.
Status CompileModel(std::vector<Program> traced, const PassOptions& options,
                    const Device* device, Model* model);

// Whether it can be the derivative of `model`: it has as many programs, and
// each reads only results of its own forward program, with the same kind and
// shape.
bool MayBeDerivative(const Model& derivative, const Model& model);

// Whether a program has a node of this kind and index.
bool Touches(const Program& program, NodeKind kind, size_t index);

}  // namespace cavs

#endif  // CAVS_CC_EXEC_MODEL_H_

// Runs nodes whose operators belong to the framework.
#ifndef CAVS_CC_EXEC_FOREIGN_NODES_H_
#define CAVS_CC_EXEC_FOREIGN_NODES_H_

#include "cc/base/status.h"
#include "cc/device/bindings.h"
#include "cc/device/operands.h"
#include "cc/ir/compiled_program.h"

namespace cavs {

// Passes operands to the framework's operators, and stores their outputs where
// the program expects them. Bound to one step; the arguments must outlive it.
class ForeignNodes : public ForeignRunner {
 public:
  // `host` is passed on to the operators.
  ForeignNodes(const CompiledProgram& program, Bindings* bindings, void* host)
      : program_(program),
        bindings_(*bindings),
        operands_(program, *bindings),
        host_(host) {}

  Status Run(const Node& node, const RowRange& at, Stream* stream) override;

  // Runs all nodes of a stage that has no rows: the prologue, or the epilogue.
  Status RunRowFree(Stage stage, Stream* stream);

 private:
  // The operand for the framework.
  TensorRef Refer(int id, const RowRange& at);
  // The memory for an output of the framework's operator.
  TensorRef ReferToOutput(int id, const RowRange& at);
  Status Take(const Node& node, int id, const RowRange& at,
              const TensorRef& output, Stream* stream);
  Status AddTerms(const Node& node, int id, const TensorRef& terms,
                  Stream* stream);

  const Program& program_;
  Bindings& bindings_;
  const Operands operands_;
  void* const host_;
};

}  // namespace cavs

#endif  // CAVS_CC_EXEC_FOREIGN_NODES_H_

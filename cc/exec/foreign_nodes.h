// Nodes that the framework runs.
#ifndef CAVS_CC_EXEC_FOREIGN_NODES_H_
#define CAVS_CC_EXEC_FOREIGN_NODES_H_

#include "cc/base/status.h"
#include "cc/device/bindings.h"
#include "cc/device/operands.h"
#include "cc/ir/compiled_program.h"

namespace cavs {

// Hands the framework's operators what they read, and puts what they give where
// the program wants it. Bound to one step; what is passed in must outlive it.
class ForeignNodes : public ForeignRunner {
 public:
  // `host` is handed to the operators.
  ForeignNodes(const CompiledProgram& program, Bindings* bindings, void* host)
      : program_(program),
        bindings_(*bindings),
        operands_(program, *bindings),
        host_(host) {}

  Status Run(const Node& node, const RowRange& at, Stream* stream) override;

  // All nodes of a stage that has no rows: the prologue, or the epilogue.
  Status RunRowFree(Stage stage, Stream* stream);

 private:
  // A symbol as the framework sees it.
  TensorRef Refer(int id, const RowRange& at);
  // Where the framework is to put it.
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

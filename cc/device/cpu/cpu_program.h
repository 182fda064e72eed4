// A program on the CPU, for one step.
#ifndef CAVS_CC_DEVICE_CPU_CPU_PROGRAM_H_
#define CAVS_CC_DEVICE_CPU_CPU_PROGRAM_H_

#include <cstdint>
#include <string>

#include "cc/device/cpu/cpu_stream.h"
#include "cc/device/cpu/node_kernels.h"
#include "cc/device/cpu/packed_weights.h"
#include "cc/device/cpu/phases.h"
#include "cc/device/cpu/row_sums.h"
#include "cc/device/device.h"
#include "cc/ir/compiled_program.h"

namespace cavs {

// Divides the work of every stage among the workers of a stream. The
// constructor's arguments must outlive the object.
class CpuProgram : public BoundProgram, public CpuTask {
 public:
  // `tiles` are those of one worker.
  CpuProgram(const CompiledProgram& program, const StagePlans& plans,
             const StageTiles& tiles, const Packing& packing,
             Bindings* bindings);

  Status Prepare(Stream* stream) override;
  Status Run(Stage stage, const RowRange& rows, Stream* stream) override;
  Status FinishSums(Stream* stream) override;

  Status RunNow(Stage stage, const RowRange& rows,
                InlineStream* stream) override;

 private:
  void PrepareNow(InlineStream* stream);
  void FinishSumsNow(InlineStream* stream);
  // The name of a stage, or of one of its tasks, in a trace.
  std::string Title(Stage stage, const RowRange& at) const;
  Status RunStage(Stage stage, const RowRange& at, InlineStream* stream);
  Status RunWhole(const Phase& phase, const RowRange& at, InlineStream* stream);
  void RunByRows(const Phase& phase, const RowRange& at, int blocks,
                 InlineStream* stream);
  void RunByColumns(const Phase& phase, const RowRange& at, int64_t unit,
                    int jobs, InlineStream* stream);

  const CompiledProgram& program_;
  const StagePlans& plans_;
  Bindings& bindings_;
  PackedWeights packed_;
  NodeKernels kernels_;
  RowSums sums_;
  const Operands operands_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_CPU_PROGRAM_H_

// A program on a GPU.
#ifndef CAVS_CC_DEVICE_CUDA_CUDA_PROGRAM_H_
#define CAVS_CC_DEVICE_CUDA_CUDA_PROGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cc/device/cuda/cuda_kernels.h"
#include "cc/device/device.h"
#include "cc/device/operands.h"

namespace cavs {

// Compiles nothing before a step runs: programs are described, and memory is
// predicted, where there is no GPU.
class CudaExecutable : public Executable {
 public:
  CudaExecutable(const CompiledProgram& program,
                 std::shared_ptr<const CudaKernels> kernels,
                 std::shared_ptr<Memory> memory);

  size_t WorkspaceBytes(const TypeRows& rows) const override;
  double Nanos(const TaskCount& tasks) const override;
  std::unique_ptr<BoundProgram> Bind(Bindings* bindings) const override;

  const CompiledProgram& program() const { return program_; }
  const CudaKernels& kernels() const { return *kernels_; }
  // The numbers of the nodes of a stage, in order.
  const std::vector<int>& nodes(Stage stage) const {
    return nodes_[static_cast<int>(stage)];
  }
  // The kernels of nodes that are groups, by node; the constants of the
  // program in memory of the GPU, by symbol, null for others. Compiles, and
  // copies, what is not there yet.
  Status Make(Stream* stream, const std::vector<CudaFunction>** groups,
              const std::vector<void*>** constants) const;

 private:
  Status MakeGroups() const;
  Status MakeConstants(Stream* stream) const;

  const CompiledProgram& program_;
  const std::shared_ptr<const CudaKernels> kernels_;
  const std::shared_ptr<Memory> memory_;
  std::array<std::vector<int>, kNumStages> nodes_;
  std::vector<std::string> texts_;  // By node; empty where it is no group.
  mutable std::mutex mutex_;
  mutable bool made_ = false;                 // GUARDED_BY(mutex_)
  mutable std::vector<CudaFunction> groups_;  // Immutable once made.
  mutable std::vector<void*> constants_;      // Likewise.
  mutable std::shared_ptr<void> constants_memory_;
};

// The constructor's arguments must outlive the object.
class CudaProgram : public BoundProgram {
 public:
  CudaProgram(const CudaExecutable& executable, Bindings* bindings)
      : executable_(executable),
        program_(executable.program()),
        kernels_(executable.kernels()),
        bindings_(*bindings),
        operands_(program_, *bindings) {}

  Status Prepare(Stream* stream) override;
  Status Run(Stage stage, const RowRange& rows, Stream* stream) override;
  Status FinishSums(Stream* stream) override;

 private:
  void BindConstants(const std::vector<void*>& constants);
  Status RunNode(int number, const RowRange& at, Stream* stream);
  Status MoveRows(const Node& node, const RowRange& at);
  Status AddUp(const Node& node, const RowRange& at, Stage stage);
  Status Multiply(const Node& node, const RowRange& at);
  Status RunGroup(int number, const std::vector<int>& operands, int out,
                  const RowRange& at);
  // Where the parts of sums of a stage are formed.
  void* WorkspaceOf(Stage stage) const;

  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  const CudaExecutable& executable_;
  const CompiledProgram& program_;
  const CudaKernels& kernels_;
  Bindings& bindings_;
  const Operands operands_;
  const std::vector<CudaFunction>* groups_ = nullptr;
  CudaStreamHandle stream_ = nullptr;  // Of the call that is running.
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUDA_PROGRAM_H_

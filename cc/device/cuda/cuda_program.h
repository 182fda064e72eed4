// A program on a GPU.
#ifndef CAVS_CC_DEVICE_CUDA_CUDA_PROGRAM_H_
#define CAVS_CC_DEVICE_CUDA_CUDA_PROGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cc/device/cuda/cuda_kernels.h"
#include "cc/device/cuda/cuda_stream.h"
#include "cc/device/cuda/plan_launches.h"
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
  Constants constants() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return {constant_bytes_, made_ == nullptr ? 0 : constant_bytes_};
  }
  double Nanos(const TaskCount& tasks) const override;
  std::unique_ptr<BoundProgram> Bind(Bindings* bindings) const override;

  const CompiledProgram& program() const { return program_; }
  const CudaKernels& kernels() const { return *kernels_; }
  const std::vector<CudaLaunch>& launches(Stage stage) const {
    return launches_[static_cast<int>(stage)];
  }
  // The kernels of an elementwise launch: alone, and behind products.
  struct GroupKernels {
    const CudaFoundKernel alone, together;
  };
  // See FindSentBack().
  int sent_by(int id) const { return sent_by_[id]; }
  // Null for other launches.
  const GroupKernels* group(Stage stage, size_t i) const {
    return groups_[static_cast<int>(stage)][i].get();
  }
  // Everything that is made once, when a step first runs.
  struct Made {
    // By symbol: constants in memory of the GPU; null for others.
    std::vector<void*> constants;
    std::shared_ptr<void> memory;  // Holds the constants.
  };
  Status Make(Stream* stream, const Made** made) const;
  // The bytes that a workspace begins with, for the walk through the tasks.
  size_t BytesOfWalk(const TypeRows& rows) const;
  // The bytes behind them that the sums of each stage need.
  size_t BytesOfStage(Stage stage, const TypeRows& rows) const;

 private:
  Status MakeConstants(Stream* stream, Made* made) const;

  const CompiledProgram& program_;
  const std::shared_ptr<const CudaKernels> kernels_;
  const std::shared_ptr<Memory> memory_;
  // By stage: the launches, and the kernels of elementwise launches.
  std::array<std::vector<CudaLaunch>, kNumStages> launches_;
  std::array<std::vector<std::unique_ptr<const GroupKernels>>, kNumStages>
      groups_;
  const std::vector<int> sent_by_;
  const size_t constant_bytes_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Made> made_;  // GUARDED_BY(mutex_)
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
  Status Launch(Stage stage, size_t i, const RowRange& at, Stream* stream);
  // Products and their epilogue, and perhaps the sum before them, if they can
  // be one launch. Adds the number of launches that are done to `done`.
  Status LaunchTogether(Stage stage, size_t i, const RowRange& at,
                        size_t* done);
  Status RunElementwise(const CudaLaunch& launch, const CudaFoundKernel& group,
                        const RowRange& at);
  // Fills in the arguments of an elementwise launch; returns their bytes.
  size_t ArgumentsOf(const CudaLaunch& launch, const RowRange& at,
                     CudaGroupArgs* arguments) const;
  Status RunNode(const Node& node, const RowRange& at, Stream* stream);
  Status Move(const std::vector<int>& nodes, const RowRange& at);
  // Whether the rows of a symbol are written where they are sent to.
  bool IsSentBack(int id) const;
  // The list of rows that a node moves rows of the children's state from or to.
  const int32_t* ChildRows(const Node& node) const;
  // The move of a node. False if the rows are in their place already.
  bool MoveOf(const Node& node, const RowRange& at, CudaMove* move) const;
  // Fills in products_.
  void FindProducts(const std::vector<int>& nodes, const RowRange& at);
  Status Multiply(const std::vector<int>& nodes, Stage stage,
                  const RowRange& at);
  // Lets cuBLASLt form the products or sums of a stage that it can. The others
  // stay.
  template <typename Product>
  Status FormLarge(DType dtype, Stage stage, std::vector<Product>* products);
  Status AddUp(const std::vector<int>& nodes, Stage stage, const RowRange& at);

  // Whether a node has something to do.
  bool Runs(int number, const RowRange& at) const;
  // The rows of a symbol that the node works on. A value without rows is
  // broadcast to all of them.
  ConstBlock Read(int id, const Node& node, const RowRange& at) const;
  int64_t ZerosOf(int id, const RowRange& at) const;
  // Where the parts of sums of a stage are formed.
  void* WorkspaceOf(Stage stage) const;

  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  const CudaExecutable& executable_;
  const CompiledProgram& program_;
  const CudaKernels& kernels_;
  Bindings& bindings_;
  const Operands operands_;
  const CudaExecutable::Made* made_ = nullptr;
  CudaStream* stream_ = nullptr;  // The stream of the call that is running.
  // Of the launch that is being prepared. Kept so that no task but the first
  // allocates.
  std::vector<int> running_;  // The nodes that have something to do.
  CudaRowSum sum_;
  std::vector<CudaProduct> products_;
  std::vector<std::pair<int, size_t>> known_;  // Output and weight of each.
  std::vector<CudaMove> moves_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUDA_PROGRAM_H_

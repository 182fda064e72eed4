#include "cc/device/cpu/cpu_device.h"

#include <algorithm>
#include <utility>

#include "cc/device/cpu/cpu_program.h"
#include "cc/device/cpu/packed_weights.h"
#include "cc/device/cpu/phases.h"

namespace cavs {
namespace {

class CpuExecutable : public Executable {
 public:
  CpuExecutable(const CompiledProgram& program, Isa isa)
      : program_(program),
        plans_(PlanPhases(program, kColumnGrain)),
        tiles_(MakeStageTiles(program, plans_, /*workers=*/1)),
        backend_(&alone_, isa),
        packing_(program, backend_) {}

  size_t WorkspaceBytes(const TypeRows& rows) const override {
    return packing_.Bytes(rows);
  }

  double Nanos(const TaskCount& tasks) const override {
    double nanos = 0;
    for (int stage = 0; stage < kNumStages; ++stage) {
      const bool by_task = stage == static_cast<int>(Stage::kCritical);
      nanos += cavs::Nanos(
          plans_[stage].cost,
          {tasks.rows, tasks.edges, by_task ? tasks.tasks : int64_t{1}});
    }
    return nanos;
  }

  std::unique_ptr<BoundProgram> Bind(Bindings* bindings) const override {
    return std::make_unique<CpuProgram>(program_, plans_, tiles_, packing_,
                                        bindings);
  }

 private:
  const CompiledProgram& program_;
  const StagePlans plans_;
  const StageTiles tiles_;
  SerialWorkers alone_;
  const CpuBackend backend_;
  const Packing packing_;
};

}  // namespace

Capabilities CpuDevice::capabilities() const {
  return {kColumnGrain, kMaxIndexedColumns};
}

int64_t CpuDevice::RowsPerBlock(int64_t bytes_per_row) const {
  const int64_t bytes = static_cast<int64_t>(options_.cache_bytes);
  return std::max(options_.fewest_rows, bytes / bytes_per_row);
}

std::unique_ptr<Executable> CpuDevice::Compile(
    const CompiledProgram& program) const {
  return std::make_unique<CpuExecutable>(program, options_.isa);
}

}  // namespace cavs

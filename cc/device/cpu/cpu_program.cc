#include "cc/device/cpu/cpu_program.h"

#include <algorithm>
#include <functional>

#include "cc/base/byte_count.h"
#include "cc/device/cpu/blocks.h"
#include "cc/device/cpu/cpu_device.h"
#include "cc/device/cpu/parallel.h"

namespace cavs {
namespace {

// With fewer rows per worker, workers would spend most time on reading weights.
constexpr int64_t kFewestRows = 8;

TaskCount SizeOf(const RowRange& at) { return {at.count, at.edges.count, 1}; }

}  // namespace

CpuProgram::CpuProgram(const CompiledProgram& program, const StagePlans& plans,
                       const StageTiles& tiles, const Packing& packing,
                       Bindings* bindings)
    : program_(program),
      plans_(plans),
      bindings_(*bindings),
      packed_(program, packing),
      kernels_(program, *bindings, packed_),
      sums_(program, tiles, bindings),
      operands_(program, *bindings) {}

Status CpuProgram::Prepare(Stream* stream) {
  return Run(Stage::kPrologue, RowRange(), stream);
}

Status CpuProgram::FinishSums(Stream* stream) {
  return Run(Stage::kEpilogue, RowRange(), stream);
}

Status CpuProgram::Run(Stage stage, const RowRange& rows, Stream* stream) {
  return static_cast<CpuStream*>(stream)->Run(this, stage, rows);
}

Status CpuProgram::RunNow(Stage stage, const RowRange& rows,
                          InlineStream* stream) {
  switch (stage) {
    case Stage::kPrologue:
      PrepareNow(stream);
      return Status();
    case Stage::kEpilogue:
      FinishSumsNow(stream);
      return Status();
    default:
      return RunStage(stage, rows, stream);
  }
}

void CpuProgram::PrepareNow(InlineStream* stream) {
  for (const auto& [id, from] : bindings_.copies) {
    stream->backend().Copy(program_.symbols[id].dtype, from,
                           bindings_.slots[id].rows.View(0, from.rows));
  }
  sums_.MakeTiles(plans_, stream->workers().count());
  kernels_.FindProductsOfZeros(stream->backend());
  const TraceScope scope(bindings_.tracer, Stage::kPrologue,
                         [] { return "pack weights"; });
  packed_.Pack(bindings_, stream->backend(), bindings_.workspace);
}

void CpuProgram::FinishSumsNow(InlineStream* stream) {
  for (int id : operands_.SumsOverNoRows()) {
    (void)stream->Zero(operands_.Sum(id), ByteCount(1, operands_.columns(id),
                                                    operands_.TypeOfSum(id)));
  }
  for (size_t id = 0; id < bindings_.slots.size(); ++id) {
    const Slot& slot = bindings_.slots[id];
    const SymbolLayout& s = program_.layout[id];
    if (s.kind == SymbolKind::kReduced && s.root == static_cast<int>(id) &&
        slot.dense != nullptr && slot.rounded_last) {
      stream->backend().RoundSums(s.dtype, s.columns, slot.dense);
    }
  }
}

std::string CpuProgram::Title(Stage stage, const RowRange& at) const {
  return StrCat(stage == Stage::kCritical ? StrCat("task ", at.task)
                                          : std::string(ToString(stage)),
                ": ", at.count, " rows",
                at.edges.count > 0 ? StrCat(" and ", at.edges.count, " edges")
                                   : std::string(),
                " of ", program_.name);
}

// Divides rows if every worker gets a few of them, or of edges; otherwise
// columns.
Status CpuProgram::RunStage(Stage stage, const RowRange& at,
                            InlineStream* stream) {
  const StagePlan& plan = plans_[static_cast<int>(stage)];
  if (plan.by_rows.empty()) return Status();
  const TraceScope scope(bindings_.tracer, stage,
                         [&] { return Title(stage, at); });
  const int workers = stream->workers().count();
  const bool divide =
      workers > 1 && Nanos(plan.cost, SizeOf(at)) > stream->nanos_to_divide();
  const int jobs =
      static_cast<int>(std::min<int64_t>(workers, plan.unit / kColumnGrain));
  const int64_t rows = at.count + at.edges.count;
  const bool is_divisible =
      rows >= kFewestRows * workers && at.count >= 2 * workers;
  const bool by_columns = divide && jobs > 1 && !is_divisible;
  // The same number of blocks for each worker.
  const int64_t blocks = divide ? CeilDiv(rows, kBlockRows * workers) * workers
                                : (workers > 1 ? 1 : CeilDiv(rows, kBlockRows));
  for (const Phase& phase : by_columns ? plan.by_columns : plan.by_rows) {
    switch (phase.division) {
      case Division::kWhole:
        CAVS_RETURN_IF_ERROR(RunWhole(phase, at, stream));
        break;
      case Division::kRows:
        RunByRows(phase, at, static_cast<int>(blocks), stream);
        break;
      case Division::kColumns:
        RunByColumns(phase, at, plan.unit, jobs, stream);
        break;
      case Division::kSums:
        sums_.Run(stage, phase, at, stream);
        break;
    }
  }
  return Status();
}

Status CpuProgram::RunWhole(const Phase& phase, const RowRange& at,
                            InlineStream* stream) {
  for (int i : phase.nodes) {
    const Node& node = program_.nodes[i];
    if (node.kind != NodeKind::kForeign) {
      kernels_.Run(i, at, ColumnRange(), stream->backend());
    } else if (!at.childless || !program_.zeros.only_for_children[i]) {
      CAVS_RETURN_IF_ERROR(bindings_.foreign->Run(node, at, stream));
    }
  }
  return Status();
}

void CpuProgram::RunByRows(const Phase& phase, const RowRange& at, int blocks,
                           InlineStream* stream) {
  const auto compute = [&](const RowRange& rows) {
    for (int i : phase.nodes) {
      if (kernels_.AddsAcrossRows(i)) continue;
      kernels_.Run(i, rows, ColumnRange(), stream->serial());
    }
  };
  const auto compute_block = [&](int block) {
    const RowRange rows = at.Part(block, blocks);
    if (rows.count > 0) compute(rows);
  };
  if (blocks == 1) {
    compute(at);
  } else {
    stream->workers().Run(blocks,
                          std::ref(compute_block));  // Without an allocation.
  }
  if (bindings_.gathered_once) return;
  for (int i : phase.nodes) {
    if (!kernels_.AddsAcrossRows(i)) continue;
    kernels_.Run(i, at, ColumnRange(), stream->backend());
  }
}

void CpuProgram::RunByColumns(const Phase& phase, const RowRange& at,
                              int64_t unit, int jobs, InlineStream* stream) {
  const int64_t grains = unit / kColumnGrain;
  const auto compute = [&](const ColumnRange& range) {
    for (int i : phase.nodes) kernels_.Run(i, at, range, stream->serial());
  };
  if (Nanos(phase.cost, SizeOf(at)) <= stream->nanos_to_divide()) {
    return compute(ColumnRange());
  }
  const auto compute_job = [&](int job) {
    compute({unit, grains * job / jobs * kColumnGrain,
             grains * (job + 1) / jobs * kColumnGrain});
  };
  stream->workers().Run(jobs, std::ref(compute_job));
}

}  // namespace cavs

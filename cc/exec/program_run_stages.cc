// ProgramRun's side of sharing out work.
#include <algorithm>
#include <functional>

#include "cc/exec/program_run.h"

namespace cavs {
namespace {

// With fewer rows each, workers would mostly read weights.
constexpr int64_t kFewestRows = 8;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

// Opaque values never get here.
Status ProgramRun::RunRows(Stage stage, const ChunkRows& chunk) {
  if (program_.plans[static_cast<int>(stage)].by_rows.empty()) return Status();
  const int64_t largest =
      ext_.largest_piece < 0 ? chunk.count : ext_.largest_piece;
  const int64_t pieces = chunk.count == 0 ? 0 : CeilDiv(chunk.count, largest);
  Place at = Place();
  at.first_of_task = at.first_of_chunk = chunk.first;
  at.childless_end = chunk.first + chunk.childless;
  for (int64_t i = 0; i < pieces; ++i) {
    at.first = at.first_of_piece = chunk.first + chunk.count * i / pieces;
    at.count = chunk.first + chunk.count * (i + 1) / pieces - at.first;
    CAVS_RETURN_IF_ERROR(RunStage(stage, at));
  }
  return Status();
}

Status ProgramRun::RunTask(const ChunkRows& chunk, int64_t task, int64_t first,
                           int64_t count) {
  Place at = Place();
  at.first = at.first_of_task = first;
  at.count = count;
  at.task = task;
  at.first_of_chunk = chunk.first;
  at.childless_end = chunk.first + chunk.childless;
  at.childless = rows_.childless(task);
  return RunStage(Stage::kCritical, at);
}

std::string ProgramRun::Title(Stage stage, const Place& at) const {
  return StrCat(stage == Stage::kCritical ? StrCat("task ", at.task)
                                          : std::string(ToString(stage)),
                ": ", at.count, " rows of ", program_.name);
}

// By rows if every worker gets a few of them; else by columns.
Status ProgramRun::RunStage(Stage stage, const Place& at) {
  const TraceScope scope(env_.tracer, stage, [&] { return Title(stage, at); });
  const StagePlan& plan = program_.plans[static_cast<int>(stage)];
  const int workers = env_.workers == nullptr ? 1 : env_.workers->count();
  const bool share =
      workers > 1 && Nanos(plan.nanos_per_row, at.count) > env_.nanos_to_share;
  const int parts = static_cast<int>(std::min<int64_t>(
      workers, plan.unit / env_.backend->ColumnGrain(DType::kFloat32)));
  const bool by_columns =
      share && parts > 1 && at.count < kFewestRows * workers;
  // As many for each worker.
  const int64_t blocks =
      share ? CeilDiv(at.count, kBlockRows * workers) * workers
            : (workers > 1 ? 1 : CeilDiv(at.count, kBlockRows));
  for (const Phase& phase : by_columns ? plan.by_columns : plan.by_rows) {
    switch (phase.sharing) {
      case Sharing::kWhole:
        CAVS_RETURN_IF_ERROR(RunWhole(phase, at));
        break;
      case Sharing::kRows:
        RunByRows(phase, at, static_cast<int>(blocks));
        break;
      case Sharing::kColumns:
        RunByColumns(phase, at, plan.unit, parts);
        break;
      case Sharing::kSums:
        RunSums(stage, phase, at);
        break;
    }
  }
  return Status();
}

Status ProgramRun::RunWhole(const Phase& phase, const Place& at) {
  for (int i : phase.nodes) {
    const Node& node = program_.nodes[i];
    if (at.childless && IsOnlyForChildren(node)) continue;
    if (node.kind == NodeKind::kForeign) {
      CAVS_RETURN_IF_ERROR(RunForeign(node, at));
    } else {
      Compute(node, at, Share(), *env_.backend);
    }
  }
  return Status();
}

void ProgramRun::RunByRows(const Phase& phase, const Place& at, int blocks) {
  if (env_.workers == nullptr) {
    for (int i : phase.nodes) {
      Compute(program_.nodes[i], at, Share(), *env_.backend);
    }
    return;
  }
  // Rows of several parents may add to one child's.
  const auto adds_across = [&](const Node& node) {
    return node.kind == NodeKind::kGatherGrad && !ext_.gathered_once;
  };
  const auto compute = [&](int part) {
    const Place rows =
        at.Part(at.count * part / blocks, at.count * (part + 1) / blocks);
    for (int i : phase.nodes) {
      const Node& node = program_.nodes[i];
      if (!adds_across(node)) Compute(node, rows, Share(), *env_.serial);
    }
  };
  env_.workers->Run(blocks, std::ref(compute));  // Allocates nothing.
  for (int i : phase.nodes) {
    const Node& node = program_.nodes[i];
    if (adds_across(node)) Compute(node, at, Share(), *env_.backend);
  }
}

void ProgramRun::RunByColumns(const Phase& phase, const Place& at, int64_t unit,
                              int parts) {
  const int64_t grain = env_.backend->ColumnGrain(DType::kFloat32);
  const int64_t grains = unit / grain;
  const auto compute = [&](const Share& share) {
    for (int i : phase.nodes) {
      Compute(program_.nodes[i], at, share, *env_.serial);
    }
  };
  if (Nanos(phase.nanos_per_row, at.count) <= env_.nanos_to_share) {
    return compute(Share());
  }
  const auto compute_part = [&](int part) {
    compute({unit, grains * part / parts * grain,
             grains * (part + 1) / parts * grain});
  };
  env_.workers->Run(parts, std::ref(compute_part));
}

}  // namespace cavs

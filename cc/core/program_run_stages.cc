// ProgramRun's side of sharing out work.
#include <algorithm>

#include "cc/core/program_run.h"

namespace cavs {
namespace {

// Rows of a block: what a worker computes of them stays in its cache from node
// to node, and a product over them reads its weights seldom enough.
constexpr int64_t kBlockRows = 64;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void ProgramRun::BeginChunk(int64_t first, int64_t count, int64_t childless) {
  first_of_chunk_ = first;
  chunk_size_ = count;
  childless_ = childless;
}

Status ProgramRun::RunRows(Stage stage) {
  // All rows of the chunk at once; opaque values never get here.
  if (chunk_size_ == 0) return Status();
  return RunStage(stage, first_of_chunk_, chunk_size_, 0);
}

// By rows if every worker gets a few blocks of them; else by columns.
Status ProgramRun::RunStage(Stage stage, int64_t first, int64_t count,
                            int64_t task) {
  const StagePlan& plan = program_.plans[static_cast<int>(stage)];
  const int workers = env_.workers == nullptr ? 1 : env_.workers->count();
  const bool share =
      workers > 1 && plan.nanos_per_row * count > env_.nanos_to_share;
  first_of_task_ = first;
  task_is_childless_ = stage == Stage::kCritical && rows_.childless(task);
  const int parts = static_cast<int>(std::min<int64_t>(
      workers, plan.unit / env_.backend->ColumnGrain(DType::kFloat32)));
  const bool by_columns = share && parts > 1 && count < kBlockRows * workers;
  int64_t block = kBlockRows;
  if (!share) {
    block = workers > 1 ? count : kBlockRows;
  } else if (count < kBlockRows * workers) {
    block = CeilDiv(count, workers);
  }
  for (const Phase& phase : by_columns ? plan.by_columns : plan.by_rows) {
    switch (phase.sharing) {
      case Sharing::kWhole:
        CAVS_RETURN_IF_ERROR(RunWhole(phase, first, count, task));
        break;
      case Sharing::kRows:
        RunByRows(phase, first, count, block);
        break;
      case Sharing::kColumns:
        RunByColumns(phase, plan.unit, first, count, parts);
        break;
      case Sharing::kSums:
        RunSums(phase, first, count);
        break;
    }
  }
  return Status();
}

Status ProgramRun::RunWhole(const Phase& phase, int64_t first, int64_t count,
                            int64_t task) {
  for (int i : phase.nodes) {
    const Node& node = program_.nodes[i];
    if (node.kind == NodeKind::kForeign) {
      CAVS_RETURN_IF_ERROR(RunForeign(node, first, count, task));
    } else {
      Compute(node, first, count, Share(), *env_.backend);
    }
  }
  return Status();
}

void ProgramRun::RunByRows(const Phase& phase, int64_t first, int64_t count,
                           int64_t block) {
  if (env_.workers == nullptr) {
    for (int i : phase.nodes) {
      Compute(program_.nodes[i], first, count, Share(), *env_.backend);
    }
    return;
  }
  // Rows of several parents may add to one child's.
  const auto adds_across = [&](const Node& node) {
    return node.kind == NodeKind::kGatherGrad && !ext_.gathered_once;
  };
  const int blocks = static_cast<int>(CeilDiv(count, block));
  env_.workers->Run(blocks, [&](int part) {
    const int64_t begin = count * part / blocks;
    const int64_t end = count * (part + 1) / blocks;
    for (int i : phase.nodes) {
      const Node& node = program_.nodes[i];
      if (adds_across(node)) continue;
      Compute(node, first + begin, end - begin, Share(), *env_.serial);
    }
  });
  for (int i : phase.nodes) {
    const Node& node = program_.nodes[i];
    if (adds_across(node)) Compute(node, first, count, Share(), *env_.backend);
  }
}

void ProgramRun::RunByColumns(const Phase& phase, int64_t unit, int64_t first,
                              int64_t count, int parts) {
  if (phase.nanos_per_row * count <= env_.nanos_to_share) {
    for (int i : phase.nodes) {
      Compute(program_.nodes[i], first, count, Share(), *env_.serial);
    }
    return;
  }
  const int64_t grain = env_.backend->ColumnGrain(DType::kFloat32);
  const int64_t grains = unit / grain;
  env_.workers->Run(parts, [&](int part) {
    const Share share = {unit, grains * part / parts * grain,
                         grains * (part + 1) / parts * grain};
    for (int i : phase.nodes) {
      Compute(program_.nodes[i], first, count, share, *env_.serial);
    }
  });
}

}  // namespace cavs

#include "tests/cc/exec/late_device.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/cc/exec/cell.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/tree_lstm_cell.h"

namespace cavs {
namespace {

using Late = LateTestDevice<Haste::kAsLateAsItMay>;

// How often the executor waits for a stream in one direction of a step with
// `tasks` tasks, which are several chunks.
int CountWaits(int tasks, engine::Engine* engine, bool backward) {
  std::atomic<int> waits{0};
  const Late late(&waits);
  const Cell cell = TreeLstmCell(DType::kFloat64, 3, 2);
  PassOptions options;
  // Two programs share memory, which is waited for in every chunk.
  options.specialize = false;
  const CellExecutor executor(cell, options, &late, /*rows=*/2);
  const Experiment experiment(cell, Chain(tasks), 1);
  const Schedule schedule = MakeSchedule(experiment.graph(), cell);
  Setting setting;
  setting.engine = engine;
  Tape tape;
  Results results;
  EXPECT_TRUE(
      executor.Forward(experiment, schedule, setting, &tape, &results).ok());
  if (!backward) return waits;
  waits = 0;
  EXPECT_TRUE(executor.Backward(experiment, tape, setting, &results).ok());
  return waits;
}

// It waits when all chunks have run, when sums are finished, at the end, and
// before memory is returned.
TEST(LateDeviceTest, TheHostDoesNotWaitForTasksOrChunks) {
  engine::Engine engine(engine::Streams(2));
  for (const bool backward : {false, true}) {
    for (const int tasks : {1, 9, 50}) {
      EXPECT_EQ(CountWaits(tasks, nullptr, backward), 4);
      EXPECT_EQ(CountWaits(tasks, &engine, backward), 6);
    }
  }
}

// After an error neither stream does any more work.
TEST(LateDeviceTest, ErrorsOfLateWorkAreReported) {
  for (const Haste haste : {Haste::kAsLateAsItMay, Haste::kAtOnce}) {
    LateStream first(haste, nullptr), second(haste, nullptr);
    bool done = false;
    EXPECT_TRUE(first.Call([] { return Internal("no"); }).ok());
    EXPECT_TRUE(second.Wait(first.Record()).ok());
    EXPECT_TRUE(second
                    .Call([&] {
                      done = true;
                      return Status();
                    })
                    .ok());
    EXPECT_EQ(second.Synchronize().message(), "no");
    EXPECT_EQ(first.Synchronize().message(), "no");
    EXPECT_FALSE(done);
    EXPECT_TRUE(second.Synchronize().ok()) << "it begins anew";
  }
}

}  // namespace
}  // namespace cavs

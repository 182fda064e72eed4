// What a tracer is told.
#include "cc/device/tracer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cc/device/cpu/backend_test_util.h"
#include "tests/cc/exec/random_cell.h"
#include "tests/cc/exec/tree_lstm_cell.h"

namespace cavs {
namespace {

struct Event {
  Stage stage;
  std::string name;
  // What was open on the thread when it began, outermost first.
  std::vector<int64_t> around;
};

// Records everything, and checks that scopes on a thread are nested.
class Recorder : public Tracer {
 public:
  int64_t Begin(Stage stage, const std::string& name) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<int64_t>& open = open_[std::this_thread::get_id()];
    const int64_t id = static_cast<int64_t>(events_.size());
    events_.push_back({stage, name, open});
    open.push_back(id);
    return id;
  }
  void End(int64_t id) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<int64_t>& open = open_[std::this_thread::get_id()];
    ASSERT_FALSE(open.empty());
    EXPECT_EQ(open.back(), id);
    open.pop_back();
  }

  const std::vector<Event>& events() const { return events_; }
  bool all_ended() const {
    return std::all_of(open_.begin(), open_.end(),
                       [](const auto& entry) { return entry.second.empty(); });
  }
  int64_t Count(const std::string& name) const {
    return std::count_if(events_.begin(), events_.end(),
                         [&](const Event& e) { return e.name == name; });
  }

 private:
  std::mutex mutex_;
  std::vector<Event> events_;
  std::map<std::thread::id, std::vector<int64_t>> open_;
};

TEST(TraceScopeTest, TellsWhenItBeginsAndEnds) {
  Recorder recorder;
  {
    const TraceScope outer(&recorder, Stage::kLazy, [] { return "outer"; });
    const TraceScope inner(&recorder, Stage::kLazy, [] { return "inner"; });
    EXPECT_FALSE(recorder.all_ended());
  }
  EXPECT_TRUE(recorder.all_ended());
  ASSERT_EQ(recorder.events().size(), 2u);
  EXPECT_EQ(recorder.events()[0].stage, Stage::kLazy);
  EXPECT_EQ(recorder.events()[1].name, "inner");
  EXPECT_EQ(recorder.events()[1].around, std::vector<int64_t>{0});
}

TEST(TraceScopeTest, WithoutATracerNobodyAsksForAName) {
  bool asked = false;
  const TraceScope scope(nullptr, Stage::kEager, [&] {
    asked = true;
    return "name";
  });
  EXPECT_FALSE(asked);
}

Recorder* RunWith(Workers* workers, const Graph& graph, Recorder* recorder,
                  Recorder* outline = nullptr) {
  const Cell cell = TreeLstmCell(DType::kFloat32, 32, 32);
  const Experiment experiment(cell, graph, 1);
  Setting setting;
  if (workers->count() > 1) {
    setting.workers = workers;
    setting.costs.nanos_to_call = 0;
    setting.costs.nanos_to_divide = 0;
  }
  setting.tracer = recorder;
  setting.outline = outline;
  CellExecutor(cell).Run(experiment, setting);
  return recorder;
}

TEST(TracerTest, IsToldOfEveryTaskAndItsOperatorsInIt) {
  SerialWorkers workers;
  Recorder recorder;
  RunWith(&workers, Join({Chain(3), Chain(2)}), &recorder);
  EXPECT_TRUE(recorder.all_ended());
  EXPECT_EQ(recorder.Count("task 0: 2 rows of  (leaves)"), 0)
      << "leaves wait for no vertex";
  for (const char* task : {"task 1: 2 rows of ", "task 2: 1 rows of "}) {
    EXPECT_EQ(recorder.Count(task), 2) << task;  // Forward and backward.
  }
  EXPECT_EQ(recorder.Count("eager: 3 rows of "), 1) << "none in the backward";
  EXPECT_EQ(recorder.Count("eager: 2 rows of  (leaves)"), 2);
  EXPECT_EQ(recorder.Count("gather_grad(0)"), 2) << "task 0 has no children";
  for (const Event& event : recorder.events()) {
    if (event.name != "gather_grad(0)") continue;
    EXPECT_EQ(event.stage, Stage::kCritical);
    ASSERT_EQ(event.around.size(), 1u);
    const std::string& around = recorder.events()[event.around[0]].name;
    EXPECT_EQ(around.substr(0, 5), "task ");
  }
}

TEST(TracerTest, AnOutlineHasOneScopeForTheProgramsOfACall) {
  SerialWorkers workers;
  Recorder nodes, outline;
  RunWith(&workers, Chain(3), &nodes, &outline);
  EXPECT_TRUE(outline.all_ended());
  EXPECT_EQ(outline.Count("programs"), 2);  // Forward and backward.
  EXPECT_EQ(outline.events().size(), 2u);
  EXPECT_EQ(nodes.Count("programs"), 0);
}

TEST(TracerTest, IsToldOfEveryRunOfANodeOnTheThreadThatRunsIt) {
  ThreadedWorkers workers(2);
  Recorder recorder;
  RunWith(&workers, Join({Chain(3), Chain(2)}), &recorder);
  EXPECT_TRUE(recorder.all_ended());
  // Columns are divided: for each task with children, both workers have some.
  EXPECT_EQ(recorder.Count("gather_grad(0)"), 4);
}

}  // namespace
}  // namespace cavs

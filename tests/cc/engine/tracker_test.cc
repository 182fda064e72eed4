#include "cc/engine/tracker.h"

#include <gtest/gtest.h>

#include <vector>

#include "cc/engine/queues.h"

namespace cavs::engine {
namespace {

class TrackerTest : public testing::Test {
 protected:
  Op* Submit(std::vector<Var*> read, std::vector<Var*> mutate) {
    Op* op = tracker_.NewOp(read.size() + mutate.size());
    for (Var* var : mutate) tracker_.AddUse(op, var, true);
    for (Var* var : read) tracker_.AddUse(op, var, false);
    op->ran = true;
    tracker_.Submit(op);
    return op;
  }

  std::vector<Op*> Ready() {
    std::vector<Op*> ready;
    while (Op* op = tracker_.TakeReady()) ready.push_back(op);
    return ready;
  }

  std::vector<Op*> Finish(Op* op) {
    tracker_.Finish(op);
    tracker_.Recycle(op);
    return Ready();
  }

  using Ops = std::vector<Op*>;

  Tracker tracker_;
  Var* x_ = tracker_.NewVar("x");
  Var* y_ = tracker_.NewVar("y");
};

TEST_F(TrackerTest, OperationThatNamesNothingIsReadyAtOnce) {
  Op* op = Submit({}, {});
  EXPECT_EQ(Ready(), Ops{op});
  EXPECT_EQ(Finish(op), Ops{});
}

TEST_F(TrackerTest, ReadsAreGrantedTogether) {
  Op* a = Submit({x_}, {});
  Op* b = Submit({x_}, {});
  EXPECT_EQ(Ready(), (Ops{a, b}));
  EXPECT_EQ(x_->readers, 2u);
}

TEST_F(TrackerTest, MutationWaitsForAllReadsBeforeIt) {
  Op* a = Submit({x_}, {});
  Op* b = Submit({x_}, {});
  Op* mutation = Submit({}, {x_});
  EXPECT_EQ(Ready(), (Ops{a, b}));
  EXPECT_EQ(Finish(b), Ops{});
  EXPECT_EQ(Finish(a), Ops{mutation});
  EXPECT_TRUE(x_->mutating);
}

TEST_F(TrackerTest, ReadDoesNotOvertakeAWaitingMutation) {
  Op* first = Submit({x_}, {});
  Op* mutation = Submit({}, {x_});
  Op* second = Submit({x_}, {});
  EXPECT_EQ(Ready(), Ops{first});
  EXPECT_EQ(Finish(first), Ops{mutation});
  EXPECT_EQ(Finish(mutation), Ops{second});
}

TEST_F(TrackerTest, FinishedMutationGrantsReadsUpToTheNextMutation) {
  Op* mutation = Submit({}, {x_});
  Op* a = Submit({x_}, {});
  Op* b = Submit({x_}, {});
  Op* next = Submit({}, {x_});
  Op* after = Submit({x_}, {});
  EXPECT_EQ(Ready(), Ops{mutation});
  EXPECT_EQ(Finish(mutation), (Ops{a, b}));
  EXPECT_EQ(Finish(a), Ops{});
  EXPECT_EQ(Finish(b), Ops{next});
  EXPECT_EQ(Finish(next), Ops{after});
}

TEST_F(TrackerTest, MutationsRunOneByOne) {
  Op* a = Submit({}, {x_});
  Op* b = Submit({}, {x_});
  EXPECT_EQ(Ready(), Ops{a});
  EXPECT_EQ(Finish(a), Ops{b});
}

TEST_F(TrackerTest, OperationWaitsForEveryVariable) {
  Op* a = Submit({}, {x_});
  Op* b = Submit({}, {y_});
  Op* both = Submit({x_, y_}, {});
  EXPECT_EQ(Ready(), (Ops{a, b}));
  EXPECT_EQ(Finish(a), Ops{});
  EXPECT_EQ(Finish(b), Ops{both});
}

TEST_F(TrackerTest, ReadAndMutatedIsOneMutation) {
  Op* op = Submit({x_, x_}, {x_, x_});
  ASSERT_EQ(op->uses.size(), 1u);
  EXPECT_TRUE(op->uses[0].mutate);
  EXPECT_EQ(Ready(), Ops{op});
  EXPECT_EQ(Finish(op), Ops{});
  EXPECT_EQ(x_->version, 1u);
}

TEST_F(TrackerTest, ReadTwiceIsOneRead) {
  Submit({x_, x_}, {});
  EXPECT_EQ(x_->readers, 1u);
}

TEST_F(TrackerTest, VersionCountsMutationsThatRan) {
  Op* op = Submit({y_}, {x_});
  Ready();
  Finish(op);
  Op* skipped = Submit({}, {x_});
  skipped->ran = false;
  Ready();
  Finish(skipped);
  EXPECT_EQ(x_->version, 1u);
  EXPECT_EQ(y_->version, 0u);
}

TEST_F(TrackerTest, RecycledVariableIsAnotherOne) {
  const uint32_t index = x_->index, generation = x_->generation;
  EXPECT_EQ(tracker_.Find(index, generation), x_);
  tracker_.Recycle(x_);
  EXPECT_EQ(tracker_.Find(index, generation), nullptr);
  EXPECT_EQ(tracker_.NewVar("z"), x_);
  EXPECT_EQ(tracker_.Find(index, generation), nullptr);
  EXPECT_EQ(tracker_.Find(7, 0), nullptr);
}

TEST_F(TrackerTest, OperationsAreRecycled) {
  for (int i = 0; i < 100; ++i) {
    Op* op = Submit({x_}, {y_});
    Ready();
    Finish(op);
  }
  EXPECT_EQ(tracker_.ops().size(), 1u);
}

class QueueTest : public testing::Test {
 protected:
  Op* NewOp(int priority) {
    Op* op = &ops_.emplace_back();
    op->sequence = ops_.size();
    op->priority = priority;
    return op;
  }

  std::deque<Op> ops_;
};

TEST_F(QueueTest, HigherPriorityFirstThenFirstReady) {
  PriorityQueue queue;
  Op *low = NewOp(-1), *a = NewOp(0), *b = NewOp(0), *high = NewOp(5);
  for (Op* op : {low, b, a, high}) queue.Push(op);
  EXPECT_EQ(queue.Pop(), high);
  EXPECT_EQ(queue.Pop(), b);
  EXPECT_EQ(queue.Pop(), a);
  EXPECT_EQ(queue.Pop(), low);
  EXPECT_EQ(queue.Pop(), nullptr);
}

TEST_F(QueueTest, EndlessHighPriorityWorkDoesNotStarveTheRest) {
  PriorityQueue queue;
  Op* low = NewOp(-1);
  queue.Push(low);
  uint64_t pops = 0;
  for (Op* op = nullptr; op != low; ++pops) {
    ASSERT_LT(pops, PriorityQueue::kFairness);
    queue.Push(NewOp(1));
    op = queue.Pop();
  }
}

TEST_F(QueueTest, OrderedQueueHoldsUpWhatIsBehindAnOperationThatIsNotReady) {
  OrderedQueue queue;
  Op *a = NewOp(0), *b = NewOp(0);
  queue.Admit(a);
  queue.Admit(b);
  b->state = OpState::kReady;
  EXPECT_EQ(queue.Pop(), nullptr);
  a->state = OpState::kReady;
  EXPECT_EQ(queue.Pop(), a);
  EXPECT_EQ(queue.Pop(), b);
  EXPECT_FALSE(queue.Runnable());
}

}  // namespace
}  // namespace cavs::engine

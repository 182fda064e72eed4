#include "cc/engine/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/cc/engine/engine_test_util.h"

namespace cavs::engine {
namespace {

class TraceTest : public EveryPolicyTest {};

INSTANTIATE_TEST_SUITE_P(Policies, TraceTest, testing::ValuesIn(AllPolicies()),
                         [](const auto& info) { return info.param.name; });

TEST_P(TraceTest, SaysWhatRanWhenAndHowItEnded) {
  const Variable x = engine_.NewVariable(), y = engine_.NewVariable();
  engine_.Push([] {}, {}, {x}, {0, 0, "not traced"});
  engine_.WaitAll();
  engine_.StartTrace();
  engine_.Push([] {}, {}, {x}, {0, 0, "first"});
  engine_.Push([] { throw std::runtime_error(""); }, {x}, {y},
               {0, 0, "second"});
  engine_.Push([] {}, {y}, {}, {0, 0, "third"});
  EXPECT_THROW(engine_.WaitAll(), OperationErrors);
  const std::vector<TraceEvent> events = engine_.StopTrace();
  ASSERT_EQ(events.size(), 3u);
  const char* names[] = {"first", "second", "third"};
  const Outcome outcomes[] = {Outcome::kDone, Outcome::kFailed,
                              Outcome::kSkipped};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(events[i].name, names[i]);
    EXPECT_EQ(events[i].outcome, outcomes[i]);
    EXPECT_LE(events[i].pushed_ns, events[i].began_ns);
    EXPECT_LE(events[i].began_ns, events[i].ended_ns);
    if (i > 0) {
      EXPECT_LE(events[i - 1].ended_ns, events[i].began_ns);
    }
  }
  engine_.Push([] {}, {}, {x});
  engine_.WaitAll();
  EXPECT_TRUE(engine_.StopTrace().empty());
}

TEST_P(TraceTest, HasNoOperationThatBeganBeforeIt) {
  const Variable x = engine_.NewVariable(), y = engine_.NewVariable();
  std::unique_ptr<Completion> before_all, before_last;
  const auto begin = [&](Variable variable, std::unique_ptr<Completion>* kept) {
    Gate begun;
    engine_.PushAsync(
        [&](Completion done) {
          *kept = std::make_unique<Completion>(std::move(done));
          begun.Open();
        },
        {}, {variable});
    begun.Pass();
  };
  begin(x, &before_all);
  engine_.StartTrace();
  begin(y, &before_last);
  engine_.StopTrace();
  engine_.StartTrace();
  (*before_all)();
  (*before_last)();
  engine_.Push([] {}, {}, {x}, {0, 0, "traced"});
  engine_.WaitAll();
  const std::vector<TraceEvent> events = engine_.StopTrace();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "traced");
}

TEST(ChromeTraceTest, IsTheFormatWithOneRowPerWorker) {
  TraceEvent event;
  event.name = "a \"b\"\n";
  event.file = "f.py";
  event.line = 7;
  event.sequence = 3;
  event.worker = 1;
  event.worker_name = "stream 1";
  event.began_ns = 1500;
  event.ended_ns = 4000;
  EXPECT_EQ(
      ChromeTrace({event}),
      "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
      "{\"ph\": \"X\", \"pid\": 0, \"tid\": 1, \"name\": \"a "
      "\\\"b\\\"\\u000a\", \"ts\": 1.500, \"dur\": 2.500, \"args\": "
      "{\"sequence\": 3, \"outcome\": \"done\", \"pushed_at\": \"f.py:7\", "
      "\"pushed_us\": 0.000}},\n"
      "{\"ph\": \"M\", \"pid\": 0, \"tid\": 1, \"name\": \"thread_name\", "
      "\"args\": {\"name\": \"stream 1\"}}\n]}\n");
}

TEST(ChromeTraceTest, EmptyTraceIsValid) {
  EXPECT_EQ(ChromeTrace({}),
            "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n]}\n");
}

}  // namespace
}  // namespace cavs::engine

#include "cc/device/cpu/cpu_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "cc/engine/engine.h"

namespace cavs {
namespace {

class TwoStreamsTest : public testing::Test {
 protected:
  engine::Engine engine_{engine::Streams(2)};
  SerialWorkers workers_;
};

TEST_F(TwoStreamsTest, WorkOfOneStreamIsDoneInOrder) {
  TwoCpuStreams streams(&engine_, &workers_);
  std::vector<int> done;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(streams.critical()
                    ->Call([&done, i] {
                      done.push_back(i);
                      return Status();
                    })
                    .ok());
    if (i % 7 == 0) streams.critical()->Record();
  }
  ASSERT_TRUE(streams.critical()->Synchronize().ok());
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[i], i);
}

TEST_F(TwoStreamsTest, WhatWaitsForAnEventComesAfterIt) {
  TwoCpuStreams streams(&engine_, &workers_);
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> made{false};
    bool seen = false;
    (void)streams.other()->Call([&made] {
      std::this_thread::yield();
      made = true;
      return Status();
    });
    (void)streams.critical()->Wait(streams.other()->Record());
    (void)streams.critical()->Call([&] {
      seen = made;
      return Status();
    });
    ASSERT_TRUE(streams.critical()->Synchronize().ok());
    EXPECT_TRUE(seen);
  }
}

TEST_F(TwoStreamsTest, MemoryIsZeroedCopiedAndAddedToInOrder) {
  TwoCpuStreams streams(&engine_, &workers_);
  Stream* const stream = streams.other();
  std::vector<float> from = {1, 2}, to = {7, 7};
  (void)stream->Zero(to.data(), sizeof(float));
  (void)stream->Add(DType::kFloat32, from.data(), 2, to.data());
  std::vector<float> copy(2);
  (void)stream->Copy(copy.data(), to.data(), 2 * sizeof(float));
  ASSERT_TRUE(stream->Synchronize().ok());
  EXPECT_EQ(copy, (std::vector<float>{1, 9}));
}

TEST_F(TwoStreamsTest, AnErrorEndsBothStreamsUntilItWasTold) {
  TwoCpuStreams streams(&engine_, &workers_);
  int later = 0;
  (void)streams.critical()->Call([]() -> Status { throw std::bad_alloc(); });
  (void)streams.other()->Wait(streams.critical()->Record());
  (void)streams.other()->Call([&later] {
    ++later;
    return Status();
  });
  EXPECT_EQ(streams.other()->Synchronize().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(later, 0);
  (void)streams.critical()->Call([&later] {
    ++later;
    return Status();
  });
  EXPECT_TRUE(streams.critical()->Synchronize().ok());
  EXPECT_EQ(later, 1);
}

TEST_F(TwoStreamsTest, AStreamThatGoesWaitsForItsWork) {
  std::atomic<int> done{0};
  {
    TwoCpuStreams streams(&engine_, &workers_);
    for (int i = 0; i < 20; ++i) {
      (void)streams.other()->Call([&done] {
        std::this_thread::yield();
        ++done;
        return Status();
      });
    }
  }
  EXPECT_EQ(done, 20);
}

}  // namespace
}  // namespace cavs

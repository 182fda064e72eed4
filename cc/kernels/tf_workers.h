// Lends TensorFlow's intra-op threads to a backend.
#ifndef CAVS_CC_KERNELS_TF_WORKERS_H_
#define CAVS_CC_KERNELS_TF_WORKERS_H_

#include <functional>

#include "cc/backend/workers.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/threadpool.h"

namespace cavs {

class TfWorkers : public Workers {
 public:
  explicit TfWorkers(tensorflow::OpKernelContext* context)
      : pool_(context->device()->tensorflow_cpu_worker_threads()->workers),
        count_(
            context->device()->tensorflow_cpu_worker_threads()->num_threads) {}

  int count() const override { return count_; }

  void Run(int parts, const std::function<void(int)>& part) override {
    if (parts <= 1 || count_ <= 1) {
      for (int i = 0; i < parts; ++i) part(i);
      return;
    }
    const auto one_each =
        tsl::thread::ThreadPool::SchedulingParams::Fixed(/*block_size=*/1);
    pool_->ParallelFor(parts, one_each, [&part](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) part(static_cast<int>(i));
    });
  }

 private:
  tsl::thread::ThreadPool* const pool_;
  const int count_;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_TF_WORKERS_H_

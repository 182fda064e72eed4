#include "cc/kernels/step.h"

#include <functional>
#include <utility>

#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/platform/threadpool.h"

namespace cavs {

Step::Step(tensorflow::OpKernelContext* context, StoragePool* pool)
    : team_(context->device()->tensorflow_cpu_worker_threads()->num_threads,
            [threads = context->device()->tensorflow_cpu_worker_threads()](
                std::function<void()> help) {
              threads->workers->Schedule(std::move(help));
            }),
      backend_(&team_),
      serial_(&alone_) {
  environment_.backend = &backend_;
  environment_.workers = &team_;
  environment_.serial = &serial_;
  environment_.pool = pool;
  environment_.host = context;
  if (auto* manager = context->cancellation_manager()) {
    environment_.cancelled = [manager] { return manager->IsCancelled(); };
  }
}

}  // namespace cavs

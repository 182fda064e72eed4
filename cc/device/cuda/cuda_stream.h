// Streams of a GPU.
#ifndef CAVS_CC_DEVICE_CUDA_CUDA_STREAM_H_
#define CAVS_CC_DEVICE_CUDA_CUDA_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "cc/device/cuda/cuda_context.h"
#include "cc/device/cuda/cuda_kernels.h"
#include "cc/device/cuda/cuda_memory.h"
#include "cc/device/cuda/cuda_walk.h"
#include "cc/device/stream.h"

namespace cavs {

// Enqueues work and returns. A call has read its arguments when it returns,
// except for memory of the GPU.
class CudaStream : public Stream {
 public:
  // A stream of its own. Memory that work used is free for others when the work
  // is done.
  static Status New(std::shared_ptr<const CudaKernels> kernels,
                    std::unique_ptr<CudaStream>* stream);
  // The stream of a framework, in which all work of the GPU is put, so that
  // memory that work used may be given to later work at once. The object is for
  // the thread that makes it, on which the context is current until it ends.
  CudaStream(std::shared_ptr<const CudaKernels> kernels,
             CudaStreamHandle handle);
  ~CudaStream() override;

  // Calls it at once: the work of a GPU cannot wait for the host's.
  Status Call(std::function<Status()> work) override { return work(); }
  Status Zero(void* to, size_t bytes) override;
  Status Copy(void* to, const void* from, size_t bytes) override;
  Status Add(DType dtype, const void* terms, int64_t n, void* sums) override;
  std::shared_ptr<Event> Record() override;
  Status Wait(std::shared_ptr<Event> event) override;
  Status Synchronize() override;
  Status Settle() override { return Status(); }
  Status Retire() override;
  Status BeginTasks() override;
  Status EndTasks() override;

  // Lends memory of the GPU to the kernel that runs tasks, until Retire().
  void LendToWalk(void* memory, size_t bytes) {
    if (bytes <= walk_bytes_) return;
    walk_memory_ = memory;
    walk_bytes_ = bytes;
  }
  // Copies memory of the host, which has been read when this returns.
  Status CopyIn(void* to, const void* from, size_t bytes);
  // Whether tasks are collected to be run by one kernel; true at first.
  void set_walks(bool walks) { walks_ = walks; }
  // Whether large products of float32 may round to TF32; false at first.
  void set_tf32(bool tf32) { tf32_ = tf32; }
  CudaStreamHandle handle() const { return handle_; }
  // Makes the context current for some calls.
  CudaContext::Current Enter() const {
    return CudaContext::Current(owns_ ? &context() : nullptr);
  }
  // Where launches go now.
  CudaQueue queue() { return {handle_, collects_ ? &walk_ : nullptr, tf32_}; }

 private:
  CudaStream(std::shared_ptr<const CudaKernels> kernels,
             CudaStreamHandle handle, bool owns);

  // Launches the tasks that were collected. To be called before anything else
  // is put into the stream.
  Status Flush();

  // Launches that no walk collects.
  CudaQueue direct() const { return {handle_, nullptr, tf32_}; }

  const CudaContext& context() const { return kernels_->context(); }
  const CudaDriver& driver() const { return context().driver(); }

  const std::shared_ptr<const CudaKernels> kernels_;
  const CudaStreamHandle handle_;
  const bool owns_;
  const CudaContext::Current current_;
  bool walks_ = true;
  bool tf32_ = false;
  bool collects_ = false;  // Whether launches are collected in walk_.
  CudaWalk walk_;
  void* walk_memory_ = nullptr;
  size_t walk_bytes_ = 0;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_CUDA_STREAM_H_

// TensorFlow's memory of a GPU.
#ifndef CAVS_CC_KERNELS_FRAMEWORK_MEMORY_H_
#define CAVS_CC_KERNELS_FRAMEWORK_MEMORY_H_

#include <cstddef>

#include "cc/device/memory.h"
#include "tensorflow/core/framework/allocator.h"

namespace cavs {

// A FrameworkMemory takes memory of a GPU from TensorFlow, which takes nearly
// all of it when it starts. TensorFlow hands memory out in the order of its
// stream, so that freed memory may be given to later work at once. The
// allocator belongs to TensorFlow and lives as long as the process.
class FrameworkMemory : public Memory {
 public:
  explicit FrameworkMemory(tensorflow::Allocator* allocator)
      : allocator_(allocator) {}

  void* Allocate(size_t bytes) override;
  void Free(void* data, size_t bytes) override;
  bool MayProvide(size_t bytes) const override;
  // Bytes that TensorFlow may still hand out; SIZE_MAX if unknown.
  size_t Available() const;
  bool is_host() const override { return false; }

 private:
  tensorflow::Allocator* const allocator_;
};

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_FRAMEWORK_MEMORY_H_

// Memory of the fake device, and memory of the host that it may use.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_MEMORY_H_
#define CAVS_TESTS_CC_CUDA_FAKE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace cavs_fake {

enum class MemoryKind { kDevice, kPinned, kManaged };

// Memory that is given out is full of NaN; what is given back is again.
class Memory {
 public:
  ~Memory();

  // An address as the host may use it, aligned to 256; null if the system has
  // no more.
  void* Allocate(MemoryKind kind, size_t bytes);
  // False if nothing begins at the address.
  bool Free(MemoryKind kind, void* at);
  // Of a block that begins there; 0 if none does.
  size_t BytesAt(void* at) const;

  // Whether the bytes lie in one block, of any kind or of memory of the host.
  bool Inside(const void* at, size_t bytes) const;
  bool IsHost(const void* at) const;
  // The number of the block of host memory that this is in; 0 if in none.
  // Numbers are not used twice.
  uint64_t HostBlock(const void* at) const;

  int64_t bytes_in_use(MemoryKind kind = MemoryKind::kDevice) const {
    return bytes_in_use_[static_cast<int>(kind)];
  }

 private:
  struct Block {
    size_t bytes;
    MemoryKind kind;
    uint64_t number;
  };
  const Block* Find(const void* at, size_t bytes) const;

  std::map<uintptr_t, Block> blocks_;
  uint64_t last_number_ = 0;
  int64_t bytes_in_use_[3] = {};  // Of each kind.
};

}  // namespace cavs_fake

#endif  // CAVS_TESTS_CC_CUDA_FAKE_MEMORY_H_

#include "tests/accelerator/memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

namespace cavs_test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

char* Reserve() {
  void* start = mmap(nullptr, 2 * kWall, PROT_NONE, kReserved, -1, 0);
  if (start == MAP_FAILED) {
    std::perror("the test device reserves addresses");
    std::abort();
  }
  return static_cast<char*>(start);
}

}  // namespace

void* RealAddress(void* address) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) +
                                 kWall);
}

WalledMemory::WalledMemory() : start_(Reserve()) {}

void* WalledMemory::Allocate(std::size_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::size_t bytes = (size + kPage - 1) / kPage * kPage;
  if (next_ + bytes + kPage > kWall) return nullptr;
  char* const address = start_ + next_;
  if (mprotect(Real(address), bytes, PROT_READ | PROT_WRITE)) return nullptr;
  next_ += bytes + kPage;  // A page without access follows each allocation.
  in_use_ += bytes;
  allocated_[address] = bytes;
  return address;
}

void WalledMemory::Free(void* address) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = allocated_.find(address);
  if (found == allocated_.end()) {
    std::fprintf(stderr, "%p: the test device never gave it out\n", address);
    std::abort();
  }
  const std::size_t bytes = found->second;
  mmap(Real(address), bytes, PROT_NONE, kReserved | MAP_FIXED, -1, 0);
  in_use_ -= bytes;
  allocated_.erase(found);
}

std::size_t WalledMemory::bytes_in_use() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return in_use_;
}

}  // namespace cavs_test

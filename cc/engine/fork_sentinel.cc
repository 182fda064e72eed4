#include "cc/engine/fork_sentinel.h"

#include <sys/mman.h>
#include <unistd.h>

namespace cavs::engine {

ForkSentinel::ForkSentinel()
    : bytes_(sysconf(_SC_PAGESIZE)), process_(getpid()) {
#ifdef MADV_WIPEONFORK
  void* page = mmap(nullptr, static_cast<size_t>(bytes_),
                    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, static_cast<size_t>(bytes_), MADV_WIPEONFORK) != 0) {
    munmap(page, static_cast<size_t>(bytes_));
    return;
  }
  page_ = static_cast<volatile char*>(page);
  *page_ = 1;
#endif
}

ForkSentinel::~ForkSentinel() {
  if (page_ != nullptr) {
    munmap(const_cast<char*>(page_), static_cast<size_t>(bytes_));
  }
}

bool ForkSentinel::InChild() const {
  return page_ != nullptr ? *page_ == 0 : getpid() != process_;
}

}  // namespace cavs::engine

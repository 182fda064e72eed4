#include "tests/cc/cuda/fake/races.h"

namespace cavs_fake {

void Races::Begin(int blocks) {
  ++launch_;
  time_ = 0;
  last_add_.assign(blocks, 0);
  if (pages_.size() > 65536) pages_.clear();
  if (recent_.empty() || pages_.empty()) recent_.assign(kRecent, {});
}

Races::Cell& Races::At(uint64_t cell) {
  const uint64_t number = cell / kCells;
  Recent& recent = recent_[number % kRecent];
  if (number != recent.number) {
    std::unique_ptr<Page>& page = pages_[number];
    if (page == nullptr) page = std::make_unique<Page>();
    recent = {number, page.get()};
  }
  Cell& found = recent.page->cells[cell % kCells];
  if (found.launch != launch_) {
    found = Cell();
    found.launch = launch_;
  }
  return found;
}

bool Races::Ordered(const Moment& before, const Moment& now) const {
  if (before.block < 0 || before.grid_epoch != now.grid_epoch) return true;
  if (before.block == now.block) {
    return before.thread == now.thread || before.block_epoch != now.block_epoch;
  }
  // The other block has added to a counter since then, and so has this one.
  return last_add_[before.block] > before.time &&
         last_add_[now.block] > before.time;
}

std::string Races::Touched(const void* at, unsigned bytes, Touch how,
                           Moment now) {
  if (how == kAdds) {
    last_add_[now.block] = ++time_;
    return {};
  }
  now.time = time_;
  const uint64_t first = reinterpret_cast<uintptr_t>(at) / kBytesPerCell;
  const uint64_t last =
      (reinterpret_cast<uintptr_t>(at) + bytes - 1) / kBytesPerCell;
  for (uint64_t i = first; i <= last; ++i) {
    Cell& cell = At(i);
    const auto race = [&](const Moment& other, const char* did) {
      return std::string(how == kWrites ? "writes" : "reads") + " what block " +
             std::to_string(other.block) + ", thread " +
             std::to_string(other.thread) + " " + did +
             ", and nothing orders the two";
    };
    if (!Ordered(cell.write, now)) return race(cell.write, "wrote");
    if (how == kWrites) {
      for (const Moment& read : cell.reads) {
        if (!Ordered(read, now)) return race(read, "read");
      }
      cell.write = now;
      continue;
    }
    Moment* reads = cell.reads;
    const bool same =
        reads[0].block == now.block && reads[0].thread == now.thread;
    if (!same) {
      if (reads[0].block != now.block) reads[2] = reads[0];
      reads[1] = reads[0];
    }
    reads[0] = now;
  }
  return {};
}

}  // namespace cavs_fake

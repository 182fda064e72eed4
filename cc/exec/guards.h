// Guard zones: memory that no kernel may write to.
#ifndef CAVS_CC_EXEC_GUARDS_H_
#define CAVS_CC_EXEC_GUARDS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cc/base/status.h"

namespace cavs {

// The zones between the buffers of one step, for tests. A kernel that writes
// outside of its buffer changes a zone, which Check() finds. With
// AddressSanitizer, zones are poisoned instead, so that it reports writes and
// reads at once.
//
// Thread safety: Check() may be called from any thread, several at once.
//
// Example:
//   Guards guards;
//   guards.Add(x + 4, x + 4 + Guards::kZone, "x");
//   x[4] = 1;
//   guards.Check([] { return "task 3"; });  // kInternal: task 3 ... "x"
class Guards {
 public:
  // The least number of bytes between two buffers.
  static constexpr size_t kZone = 1024;
  // Unused bytes behind the last zone of an allocation: a write beyond a zone
  // must not end the process before Check().
  static constexpr size_t kMargin = size_t{64} << 10;

  Guards() = default;
  Guards(const Guards&) = delete;
  ~Guards() { KeepFirst(0); }

  // Adds the zone [begin, end) behind the buffer of that name. The memory must
  // stay allocated until the zone is forgotten.
  void Add(void* begin, void* end, std::string_view buffer);
  // Adds the bytes [begin, end), which kernels read and which must stay zero.
  void AddZeros(const void* begin, const void* end, std::string_view name);

  size_t size() const { return zones_.size(); }
  // Forgets all zones but the first `count`.
  void KeepFirst(size_t count);

  // kInternal if a zone was written to. `title` names what has run since the
  // last call.
  Status Check(const std::function<std::string()>& title) const;

 private:
  struct Zone {
    unsigned char* begin;
    unsigned char* end;
    bool zeros;
    std::string name;
  };

  std::vector<Zone> zones_;
};

// Whether the environment asks for guard zones (CAVS_GUARD_ZONES=1).
bool GuardZonesWanted();

}  // namespace cavs

#endif  // CAVS_CC_EXEC_GUARDS_H_

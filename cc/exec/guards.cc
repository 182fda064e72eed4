#include "cc/exec/guards.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace cavs {
namespace {

constexpr unsigned char kPattern = 0xA5;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPoisons = true;
void Close(unsigned char* begin, unsigned char* end) {
  __asan_poison_memory_region(begin, end - begin);
}
void Open(unsigned char* begin, unsigned char* end) {
  __asan_unpoison_memory_region(begin, end - begin);
}
#else
constexpr bool kPoisons = false;
void Close(unsigned char* begin, unsigned char* end) {
  std::memset(begin, kPattern, end - begin);
}
void Open(unsigned char*, unsigned char*) {}
#endif

}  // namespace

void Guards::Add(void* begin, void* end, std::string_view buffer) {
  zones_.push_back({static_cast<unsigned char*>(begin),
                    static_cast<unsigned char*>(end), /*zeros=*/false,
                    std::string(buffer)});
  Close(zones_.back().begin, zones_.back().end);
}

void Guards::AddZeros(const void* begin, const void* end,
                      std::string_view name) {
  const auto bytes = [](const void* at) {
    return static_cast<unsigned char*>(const_cast<void*>(at));
  };
  zones_.push_back(
      {bytes(begin), bytes(end), /*zeros=*/true, std::string(name)});
}

void Guards::KeepFirst(size_t count) {
  for (size_t i = count; i < zones_.size(); ++i) {
    if (!zones_[i].zeros) Open(zones_[i].begin, zones_[i].end);
  }
  zones_.resize(std::min(count, zones_.size()));
}

Status Guards::Check(const std::function<std::string()>& title) const {
  for (size_t i = 0; i < zones_.size(); ++i) {
    const Zone& zone = zones_[i];
    if (kPoisons && !zone.zeros) continue;
    const unsigned char want = zone.zeros ? 0 : kPattern;
    const unsigned char* written =
        std::find_if(zone.begin, zone.end,
                     [want](unsigned char byte) { return byte != want; });
    if (written == zone.end) continue;
    if (zone.zeros) {
      return Internal("guard zones: ", title(), " wrote to ", zone.name,
                      ", which must stay zero. Please report this as a bug of "
                      "cavs_tf.");
    }
    return Internal("guard zones: ", title(), " wrote ", written - zone.begin,
                    " bytes behind the end of ", zone.name,
                    ". Please report this as a bug of cavs_tf.");
  }
  return Status();
}

bool GuardZonesWanted() {
  const char* value = std::getenv("CAVS_GUARD_ZONES");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

}  // namespace cavs

#include "cc/schedule/link_same.h"

#include <cstddef>

namespace cavs {

void LinkSame(Span<int32_t> values, int64_t limit,
              std::vector<int32_t>* links) {
  const size_t begin = links->size();
  links->resize(begin + 2 * values.size());
  int32_t* const own = links->data() + begin;
  std::vector<int32_t> last(values.empty() ? 0 : limit, -1);  // By value.
  for (int32_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0) continue;
    const int32_t before = last[values[i]];
    last[values[i]] = i;
    if (before >= 0) own[2 * i] = own[2 * before + 1] = i - before;
  }
}

}  // namespace cavs

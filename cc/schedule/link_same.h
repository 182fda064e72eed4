// Links between rows that are added to the same one.
#ifndef CAVS_CC_SCHEDULE_LINK_SAME_H_
#define CAVS_CC_SCHEDULE_LINK_SAME_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"

namespace cavs {

// Appends two numbers for each of `values`, which are less than `limit`: how
// far before it and how far behind it the next one of the same value is; 0 if
// there is none, and for negative values. So whoever has any consecutive values
// can find, in order, all of them that are equal, and looks at no other.
void LinkSame(Span<int32_t> values, int64_t limit, std::vector<int32_t>* links);

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_LINK_SAME_H_

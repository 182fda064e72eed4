// What a device can do, as far as passes have to know.
#ifndef CAVS_CC_IR_CAPABILITIES_H_
#define CAVS_CC_IR_CAPABILITIES_H_

#include <cstdint>

namespace cavs {

struct Capabilities {
  // Columns of products are shared out in multiples of this, so weights that
  // come to stand side by side begin at one.
  int64_t column_grain = 1;
  // A product reads rows of at most so many columns by an index; -1: the device
  // reads no rows by an index.
  int64_t most_indexed_columns = -1;
};

}  // namespace cavs

#endif  // CAVS_CC_IR_CAPABILITIES_H_

// The abilities of a device that passes have to know.
#ifndef CAVS_CC_IR_CAPABILITIES_H_
#define CAVS_CC_IR_CAPABILITIES_H_

#include <cstdint>

namespace cavs {

struct Capabilities {
  // Products divide their columns among workers in multiples of this number, so
  // weights that are placed side by side begin at one.
  int64_t column_grain = 1;
  // The widest rows that a product can read by an index, in columns; -1 if the
  // device reads no rows by an index.
  int64_t most_indexed_columns = -1;
  // Whether the host may ask in a step whether values are finite. If not, there
  // are no programs that are right for finite values only.
  bool asks_if_finite = true;
};

}  // namespace cavs

#endif  // CAVS_CC_IR_CAPABILITIES_H_

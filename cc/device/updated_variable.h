// A variable that is updated.
#ifndef CAVS_CC_DEVICE_UPDATED_VARIABLE_H_
#define CAVS_CC_DEVICE_UPDATED_VARIABLE_H_

#include <cstdint>

namespace cavs {

// A variable, its moments and its gradient: adjacent elements of one type. The
// moments are null if the rule of its update has none.
struct UpdatedVariable {
  void *var, *m, *v;
  const void* gradient;
  int64_t size;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_UPDATED_VARIABLE_H_

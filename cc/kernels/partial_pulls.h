// Reads which inputs have rows for some vertices only, and for which vertices.
#ifndef CAVS_CC_KERNELS_PARTIAL_PULLS_H_
#define CAVS_CC_KERNELS_PARTIAL_PULLS_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "cc/exec/model.h"
#include "cc/schedule/external_rows.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// Reads the attributes partial_pulls, partial_pull_grads and child_pulls.
absl::Status ReadPartialPulls(tensorflow::OpKernelConstruction* context,
                              PartialPulls* partial);

// Reads the input partial_vertices, one tensor for each pull in `partial`, and
// sets the maps of these pulls.
absl::Status ReadPartialRows(tensorflow::OpKernelContext* context,
                             const std::set<int>& partial, int64_t num_vertices,
                             std::vector<RowMap>* rows);

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_PARTIAL_PULLS_H_

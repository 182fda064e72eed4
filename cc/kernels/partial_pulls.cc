#include "cc/kernels/partial_pulls.h"

#include <string>

#include "cc/base/status.h"
#include "cc/kernels/status_util.h"

namespace cavs {
namespace {

absl::Status ReadNumbers(tensorflow::OpKernelConstruction* context,
                         const char* name, std::set<int>* numbers) {
  std::vector<int> given;
  TF_RETURN_IF_ERROR(context->GetAttr(name, &given));
  for (size_t i = 0; i < given.size(); ++i) {
    const int least = i == 0 ? 0 : given[i - 1] + 1;
    if (given[i] < least) {
      return absl::InvalidArgumentError(
          StrCat(name, "[", i, "]: got ", given[i], " but expected at least ",
                 least, ". Give the numbers of inputs in ascending order."));
    }
    numbers->insert(given[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadPartialPulls(tensorflow::OpKernelConstruction* context,
                              PartialPulls* partial) {
  TF_RETURN_IF_ERROR(ReadNumbers(context, "partial_pulls", &partial->pulls));
  TF_RETURN_IF_ERROR(
      ReadNumbers(context, "partial_pull_grads", &partial->grads));
  return ReadNumbers(context, "child_pulls", &partial->of_children);
}

absl::Status ReadPartialRows(tensorflow::OpKernelContext* context,
                             const std::set<int>& partial, int64_t num_vertices,
                             std::vector<RowMap>* rows) {
  tensorflow::OpInputList vertices;
  TF_RETURN_IF_ERROR(context->input_list("partial_vertices", &vertices));
  if (vertices.size() != static_cast<int>(partial.size())) {
    return absl::InvalidArgumentError(StrCat(
        "partial_vertices: got ", vertices.size(), " tensors but expected ",
        partial.size(), ", the vertices of each input in partial_pulls."));
  }
  int i = 0;
  for (const int pull : partial) {
    const ArgumentName name("partial_vertices", i);
    const tensorflow::Tensor& own = vertices[i++];
    if (own.dims() != 1 || pull >= static_cast<int>(rows->size())) {
      return absl::InvalidArgumentError(
          StrCat(name, ": got shape ", own.shape().DebugString(), " for input ",
                 pull, " but expected a vector, for one of ", rows->size(),
                 " inputs. Pass the vertices that have a row of it."));
    }
    TF_RETURN_IF_ERROR(ToAbsl(
        ChosenVertices(name, {own.flat<int32_t>().data(), own.NumElements()},
                       num_vertices, &(*rows)[pull])));
  }
  return absl::OkStatus();
}

}  // namespace cavs

#include "cc/kernels/compile.h"

#include <utility>

#include "cc/core/passes/classify.h"
#include "cc/core/passes/plan_memory.h"
#include "cc/kernels/lower.h"
#include "cc/kernels/status_util.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"

namespace cavs {

absl::Status Compile(tensorflow::OpKernelConstruction* context,
                     const std::string& functions, bool keep_results,
                     CompiledModel* compiled) {
  std::vector<tensorflow::NameAttrList> names;
  TF_RETURN_IF_ERROR(context->GetAttr(functions, &names));
  ClassifyOptions options;
  TF_RETURN_IF_ERROR(context->GetAttr("eager", &options.eager));
  TF_RETURN_IF_ERROR(context->GetAttr("lazy", &options.lazy));
  for (const tensorflow::NameAttrList& name : names) {
    LoweredFunction lowered;
    TF_RETURN_IF_ERROR(
        Lower(context->function_library(), name.name(), &lowered));
    if (!keep_results) lowered.program.results.clear();
    TF_RETURN_IF_ERROR(ToAbsl(Classify(options, &lowered.program)));
    PlanMemory(&lowered.program);
    compiled->model.programs.push_back(std::move(lowered.program));
    compiled->result_captures.push_back(std::move(lowered.result_captures));
  }
  return ToAbsl(FinishModel(&compiled->model));
}

Block ToBlock(const tensorflow::Tensor& tensor) {
  const int64_t rows = tensor.dim_size(0);
  int64_t columns = 1;
  for (int i = 1; i < tensor.dims(); ++i) columns *= tensor.dim_size(i);
  return {tensor.data(), rows, columns, columns};
}

}  // namespace cavs

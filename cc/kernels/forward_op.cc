#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/exec/executor.h"
#include "cc/kernels/allocate.h"
#include "cc/kernels/check_rows.h"
#include "cc/kernels/compile.h"
#include "cc/kernels/guarded_op.h"
#include "cc/kernels/op_device.h"
#include "cc/kernels/partial_pulls.h"
#include "cc/kernels/program_builder.h"
#include "cc/kernels/read_result_sizes.h"
#include "cc/kernels/read_schedule.h"
#include "cc/kernels/register_on_gpu.h"
#include "cc/kernels/status_util.h"
#include "cc/kernels/tape_variant.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {
namespace {

using ::tensorflow::DataTypeString;
using ::tensorflow::OpInputList;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// ForwardOp runs vertex functions over a schedule. Its programs are compiled
// once and never change, and every step has its own storage, so any number of
// threads may run it at once.
class ForwardOp {
 public:
  absl::Status Init(OpKernelConstruction* context) {
    int streams;
    TF_RETURN_IF_ERROR(ReadStreams(context, &streams));
    TF_RETURN_IF_ERROR(OpDevice::Make(context, streams, &device_));
    pool_ = device_->NewPool();
    TF_RETURN_IF_ERROR(context->GetAttr("keep_tape", &keep_tape_));
    TF_RETURN_IF_ERROR(context->GetAttr("push_shapes", &push_shapes_));
    TF_RETURN_IF_ERROR(CompileFunctions(context));
    TF_RETURN_IF_ERROR(ReadPartialPulls(context, &partial_));
    TF_RETURN_IF_ERROR(ReadPulls(context));
    TF_RETURN_IF_ERROR(CheckPushes(context));
    TF_RETURN_IF_ERROR(ReadCaptures(context));
    TF_RETURN_IF_ERROR(ReadPulledBy(context));
    return ReadResultSizes(context, &sizes_);
  }

  absl::Status Compute(OpKernelContext* context) const {
    ForwardArguments arguments;
    arguments.sizes = &sizes_;
    TF_RETURN_IF_ERROR(
        ReadSchedule(context, compiled_->model, &arguments.schedule));
    TF_RETURN_IF_ERROR(GivePulls(context, &arguments));
    TF_RETURN_IF_ERROR(ReadAt(context, &arguments));
    TF_RETURN_IF_ERROR(GiveCaptures(context, &arguments));
    TF_RETURN_IF_ERROR(AllocatePushes(context, &arguments));

    std::shared_ptr<Tape> tape;
    if (keep_tape_) {
      tape = std::make_shared<Tape>();
      OpInputList pulls, edges;
      TF_RETURN_IF_ERROR(context->input_list("pulls", &pulls));
      TF_RETURN_IF_ERROR(context->input_list("edges", &edges));
      auto kept = std::make_shared<std::vector<Tensor>>();
      kept->reserve(4 + pulls.size() + edges.size());
      for (int i = 0; i < 4; ++i) kept->push_back(context->input(i));
      for (const Tensor& pull : pulls) kept->push_back(pull);
      for (const Tensor& list : edges) kept->push_back(list);
      tape->alive.push_back(std::move(kept));
      if (derivative_) arguments.derivative = &derivative_->model;
    }
    // Inference has one stream.
    TF_RETURN_IF_ERROR(
        device_->Run(context, pool_.get(), /*one_stream=*/!keep_tape_,
                     [&](const StepContext& step) {
                       return RunForward(compiled_->model, std::move(arguments),
                                         step, tape.get());
                     }));
    // Like a list of tensors, the tape is in the memory of the host, wherever
    // the op runs.
    tensorflow::AllocatorAttributes of_host;
    of_host.set_on_host(true);
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(
        context->allocate_output("tape", TensorShape({}), &output, of_host));
    output->scalar<tensorflow::Variant>()() =
        keep_tape_ ? TapeVariant{std::move(tape), pool_,
                                 device_->NameOfMemory(context)}
                   : TapeVariant();
    return absl::OkStatus();
  }

 private:
  absl::Status ReadPulls(OpKernelConstruction* context) {
    std::vector<PartialTensorShape> shapes;
    std::vector<tensorflow::DataType> types;
    TF_RETURN_IF_ERROR(context->GetAttr("pull_shapes", &shapes));
    TF_RETURN_IF_ERROR(context->GetAttr("Tpulls", &types));
    TF_RETURN_IF_ERROR(FindRowTypes(compiled_->model, NodeKind::kPull, "pulls",
                                    types, &pull_types_));
    return CheckRowShapes("pull_shapes", pull_types_, shapes);
  }

  absl::Status CheckPushes(OpKernelConstruction* context) {
    std::vector<tensorflow::DataType> types;
    TF_RETURN_IF_ERROR(context->GetAttr("Tpushes", &types));
    std::vector<RowType> pushes;
    TF_RETURN_IF_ERROR(FindRowTypes(compiled_->model, NodeKind::kPush, "pushes",
                                    types, &pushes));
    TF_RETURN_IF_ERROR(CheckRowShapes("push_shapes", pushes, push_shapes_));
    for (size_t i = 0; i < types.size(); ++i) {
      if (SizeOf(ToDType(types[i])) == 0) {
        return absl::InvalidArgumentError(
            StrCat("Tpushes[", i, "]: got ", DataTypeString(types[i]),
                   " but expected a numeric or boolean type. Push numbers."));
      }
    }
    return absl::OkStatus();
  }

  // Reads the types of captures, and checks them against the arguments of the
  // vertex functions.
  absl::Status ReadCaptures(OpKernelConstruction* context) {
    std::vector<tensorflow::DataType> types;
    TF_RETURN_IF_ERROR(context->GetAttr("Tcaptures", &types));
    TF_RETURN_IF_ERROR(context->GetAttr("capture_counts", &capture_counts_));
    TF_RETURN_IF_ERROR(CheckCaptureCounts(
        capture_counts_, compiled_->model.num_types, types.size()));
    size_t first = 0;
    for (size_t type = 0; type < capture_counts_.size(); ++type) {
      for (const auto& [i, traced] : compiled_->capture_types[type]) {
        if (i >= capture_counts_[type]) continue;  // Compute() rejects it.
        if (types[first + i] != traced) {
          return absl::InvalidArgumentError(
              StrCat("captures[", first + i, "]: got ",
                     DataTypeString(types[first + i]), " but expected ",
                     DataTypeString(traced),
                     ", as when the vertex function was traced. Cast it."));
        }
      }
      first += capture_counts_[type];
    }
    return absl::OkStatus();
  }

  // Reads pulled_by_: pulled_by_[i][t] says whether vertex function t pulls
  // input i.
  absl::Status ReadPulledBy(OpKernelConstruction* context) {
    std::vector<bool> flat;
    TF_RETURN_IF_ERROR(context->GetAttr("pulled_by", &flat));
    const size_t types = compiled_->model.num_types;
    const size_t pulls = pull_types_.size();
    if (flat.size() != pulls * types) {
      return absl::InvalidArgumentError(
          StrCat("pulled_by: got ", flat.size(), " values but expected ",
                 pulls * types, ", one per pull and vertex function."));
    }
    for (size_t i = 0; i < pulls; ++i) {
      pulled_by_.emplace_back(flat.begin() + i * types,
                              flat.begin() + (i + 1) * types);
    }
    return absl::OkStatus();
  }

  // If the derivative is missing or cannot be compiled, only the backward op
  // returns an error.
  absl::Status CompileFunctions(OpKernelConstruction* context) {
    compiled_ = std::make_unique<CompiledModel>();
    if (!keep_tape_)
      return CompileInference(context, device_->device(), compiled_.get());
    derivative_ = std::make_unique<CompiledModel>();
    const absl::Status status = CompileTraining(
        context, device_->device(), compiled_.get(), derivative_.get());
    if (status.ok() && MayBeDerivative(derivative_->model, compiled_->model)) {
      return status;
    }
    derivative_ = nullptr;
    compiled_ = std::make_unique<CompiledModel>();
    return Compile(context, device_->device(), "vertex", FunctionKind::kVertex,
                   compiled_.get());
  }

  absl::Status GivePulls(OpKernelContext* context,
                         ForwardArguments* arguments) const {
    OpInputList pulls;
    TF_RETURN_IF_ERROR(context->input_list("pulls", &pulls));
    std::vector<RowMap> maps(pulls.size());
    TF_RETURN_IF_ERROR(ReadPartialRows(
        context, partial_.pulls, arguments->schedule.num_vertices(), &maps));
    for (int i = 0; i < pulls.size(); ++i) {
      RowMap& map = maps[i];
      TF_RETURN_IF_ERROR(
          FindRows(arguments->schedule, i, pulls[i].shape(), &map));
      TF_RETURN_IF_ERROR(
          CheckRows({"pulls", i}, pull_types_[i], pulls[i].shape()));
      arguments->pulls.push_back(ToBlock(pulls[i]));
      arguments->pull_rows.push_back(std::move(map));
    }
    return absl::OkStatus();
  }

  // Finds the vertices or edges to which the rows of an input belong. A partial
  // input has given rows, and an input of edges has one row per edge. Other
  // inputs have one row per vertex, or one per vertex of the types that pull
  // them.
  absl::Status FindRows(const ScheduleView& schedule, int pull,
                        const TensorShape& shape, RowMap* map) const {
    const int64_t rows = shape.dims() < 1 ? -1 : shape.dim_size(0);
    if (partial_.pulls.count(pull) > 0) {
      if (rows == map->count) return absl::OkStatus();
      return absl::InvalidArgumentError(
          StrCat("pulls[", pull, "]: got shape ", shape.DebugString(),
                 " but expected [", map->count,
                 ", ...], one row for each of its vertices. Pass the vertices "
                 "to which the rows belong."));
    }
    if (compiled_->model.edge_pulls.count(pull) > 0) {
      *map = AllEdges(schedule);
      if (rows == map->count) return absl::OkStatus();
      return absl::InvalidArgumentError(
          StrCat("pulls[", pull, "]: got shape ", shape.DebugString(),
                 " but expected [", map->count,
                 ", ...], one row per edge of the minibatch: for every vertex, "
                 "one for each of its children, in their order."));
    }
    *map = AllVertices(schedule);
    if (rows == map->count) return absl::OkStatus();
    std::string also;
    if (compiled_->model.num_types > 1) {
      *map = VerticesOfTypes(schedule, pulled_by_[pull]);
      if (rows == map->count) return absl::OkStatus();
      also = StrCat(", or [", map->count,
                    ", ...]: one per vertex of the types that pull it");
    }
    return absl::InvalidArgumentError(
        StrCat("pulls[", pull, "]: got shape ", shape.DebugString(),
               " but expected [", schedule.num_vertices(),
               ", ...]: one row per vertex of the minibatch", also,
               ". Check that the input and the graphs belong to the same "
               "minibatch."));
  }

  // Reads the vertices whose pushes are wanted.
  static absl::Status ReadAt(OpKernelContext* context,
                             ForwardArguments* arguments) {
    OpInputList at;
    TF_RETURN_IF_ERROR(context->input_list("at", &at));
    if (at.size() == 0) {
      arguments->push_rows = AllVertices(arguments->schedule);
      return absl::OkStatus();
    }
    if (at.size() > 1 || at[0].dims() != 1) {
      return absl::InvalidArgumentError(
          StrCat("at: got ", at.size(), " tensors, of shape ",
                 at[0].shape().DebugString(),
                 " the first, but expected one vector. Pass the vertices whose "
                 "outputs are wanted."));
    }
    return ToAbsl(ChosenVertices(
        "at", {at[0].flat<int32_t>().data(), at[0].NumElements()},
        arguments->schedule.num_vertices(), &arguments->push_rows));
  }

  absl::Status GiveCaptures(OpKernelContext* context,
                            ForwardArguments* arguments) const {
    OpInputList captures;
    TF_RETURN_IF_ERROR(context->input_list("captures", &captures));
    const auto kept =
        std::make_shared<std::vector<Tensor>>(captures.begin(), captures.end());
    int next = 0;
    for (size_t type = 0; type < capture_counts_.size(); ++type) {
      std::vector<TensorRef> own;
      own.reserve(capture_counts_[type]);
      for (int i = 0; i < capture_counts_[type]; ++i, ++next) {
        own.push_back(ReferTo(captures[next]));
        own.back().handle = {kept, &(*kept)[next]};
      }
      arguments->captures.push_back(std::move(own));
    }
    return absl::OkStatus();
  }

  absl::Status AllocatePushes(OpKernelContext* context,
                              ForwardArguments* arguments) const {
    for (size_t i = 0; i < push_shapes_.size(); ++i) {
      const ArgumentName name("pushes", i);
      const bool of_edges =
          compiled_->model.edge_pushes.count(static_cast<int>(i)) > 0;
      TensorShape shape;
      TF_RETURN_IF_ERROR(ShapeOfRows(name,
                                     of_edges ? arguments->schedule.num_edges()
                                              : arguments->push_rows.count,
                                     push_shapes_[i], &shape));
      Tensor* push = nullptr;
      TF_RETURN_IF_ERROR(AllocateOutput(context, name, i, shape, &push));
      arguments->pushes.push_back(ToBlock(*push));
    }
    return absl::OkStatus();
  }

  std::unique_ptr<const OpDevice> device_;
  std::shared_ptr<StoragePool> pool_;
  bool keep_tape_ = false;
  std::vector<int> capture_counts_;
  std::vector<PartialTensorShape> push_shapes_;
  std::vector<RowType> pull_types_;
  std::vector<std::vector<bool>> pulled_by_;
  PartialPulls partial_;
  std::unique_ptr<CompiledModel> compiled_;
  std::unique_ptr<CompiledModel> derivative_;  // Null if there is none.
  ResultSizes sizes_;
};

REGISTER_KERNEL_BUILDER(Name("CavsForward").Device(tensorflow::DEVICE_CPU),
                        GuardedOp<ForwardOp>);

[[maybe_unused]] const bool kOnGpu = RegisterOnGpu<GuardedOp<ForwardOp>>(
    "CavsForward", {"order", "task_splits", "task_type", "child_row", "at",
                    "partial_vertices", "edges"});

}  // namespace
}  // namespace cavs

// ProgramRun's side of operators that the framework runs.
#include <algorithm>

#include "cc/base/bfloat16.h"
#include "cc/exec/program_run.h"

namespace cavs {
namespace {

// sum += part, for the few types whose sums over rows exist.
template <typename T>
void Add(const void* part, int64_t n, void* sum) {
  const T* from = static_cast<const T*>(part);
  T* to = static_cast<T*>(sum);
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

void AddBFloat16(const void* part, int64_t n, void* sum) {
  const BFloat16* from = static_cast<const BFloat16*>(part);
  float* to = static_cast<float*>(sum);
  for (int64_t i = 0; i < n; ++i) to[i] += ToFloat(from[i]);
}

}  // namespace

TensorRef ProgramRun::Reference(int id, const Place& at) {
  const Symbol& s = symbol(id);
  TensorRef ref;
  ref.dtype = s.dtype;
  switch (s.kind) {
    case SymbolKind::kRows: {
      const Block block = Rows(id, at);
      ref.shape.push_back(at.count);
      ref.shape.insert(ref.shape.end(), s.shape.begin(), s.shape.end());
      ref.data = block.data;
      ref.pitch = block.pitch;
      return ref;
    }
    case SymbolKind::kRowCount: {
      ref.shape = s.shape;
      for (size_t i = 0; i < s.scale.size(); ++i) {
        ref.numbers.push_back(s.scale[i] * at.count + s.bias[i]);
      }
      return ref;
    }
    case SymbolKind::kOpaque: {
      std::vector<TensorRef>& per_task = values_[id].per_task;
      if (static_cast<int64_t>(per_task.size()) <= at.task) {
        per_task.resize(at.task + 1);
      }
      ref = per_task[at.task];
      ref.dtype = s.dtype;
      ref.opaque = true;
      return ref;
    }
    case SymbolKind::kInvariant:
    case SymbolKind::kReduced:
      return values_[id].dense;
  }
  return ref;
}

Status ProgramRun::RunForeign(const Node& node, const Place& at) {
  const TraceScope scope(env_.tracer, node.stage, [&] { return node.label; });
  std::vector<TensorRef> inputs, outputs;
  std::vector<std::shared_ptr<void>> parts;  // Terms of sums over rows.
  for (int id : node.inputs) inputs.push_back(Reference(id, at));
  for (int id : node.outputs) {
    const Symbol& s = symbol(id);
    TensorRef out = Reference(id, at);
    if (s.kind == SymbolKind::kInvariant || s.kind == SymbolKind::kOpaque) {
      out = TensorRef();
      out.dtype = s.dtype;
      out.opaque = s.kind == SymbolKind::kOpaque;
    } else if (s.kind == SymbolKind::kReduced &&
               (values_[id].written || s.rounded_last)) {
      parts.push_back(env_.pool->Acquire(s.columns() * SizeOf(s.dtype)));
      if (parts.back() == nullptr) {
        return Status(StatusCode::kResourceExhausted,
                      StrCat("minibatch: no memory for ", node.name, "."));
      }
      out.data = parts.back().get();
    }
    outputs.push_back(out);
  }
  CAVS_RETURN_IF_ERROR(node.foreign->Run(env_.host, inputs, &outputs));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const int id = node.outputs[i];
    const Symbol& s = symbol(id);
    Value& value = values_[id];
    if (s.kind == SymbolKind::kInvariant) {
      value.dense = outputs[i];
    } else if (s.kind == SymbolKind::kOpaque) {
      value.per_task[at.task] = outputs[i];
    } else if (s.kind == SymbolKind::kReduced) {
      if (s.rounded_last) {
        const size_t bytes = s.columns() * SizeOf(StoredType(id));
        if (!value.written) {
          std::fill_n(static_cast<char*>(value.dense.data), bytes, 0);
        }
        AddBFloat16(outputs[i].data, s.columns(), value.dense.data);
      } else if (value.written) {
        if (s.dtype == DType::kFloat64) {
          Add<double>(outputs[i].data, s.columns(), value.dense.data);
        } else if (s.dtype == DType::kFloat32) {
          Add<float>(outputs[i].data, s.columns(), value.dense.data);
        } else {
          return Status(
              StatusCode::kUnimplemented,
              StrCat("vertex function: operator ", node.name, " (", node.op,
                     ") sums rows of a type that cannot be "
                     "added up task by task. Use float32."));
        }
      }
      value.written = true;
    }
  }
  return Status();
}

}  // namespace cavs

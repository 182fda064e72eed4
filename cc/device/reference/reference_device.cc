#include "cc/device/reference/reference_device.h"

#include <cmath>
#include <cstring>

#include "cc/device/reference/numbers.h"
#include "cc/device/reference/reference_program.h"

namespace cavs {
namespace {

class ReferenceExecutable : public Executable {
 public:
  explicit ReferenceExecutable(const CompiledProgram& program)
      : program_(program) {}

  size_t WorkspaceBytes(const TypeRows&) const override { return 0; }
  double Nanos(const TaskCount&) const override { return 0; }
  std::unique_ptr<BoundProgram> Bind(Bindings* bindings) const override {
    return std::make_unique<ReferenceProgram>(program_, bindings);
  }

 private:
  const CompiledProgram& program_;
};

}  // namespace

Status ReferenceStream::Zero(void* to, size_t bytes) {
  if (bytes > 0) std::memset(to, 0, bytes);
  return Status();
}

Status ReferenceStream::Copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
  return Status();
}

Status ReferenceStream::Add(DType dtype, const void* terms, int64_t n,
                            void* sums) {
  if (!IsNative(dtype)) {
    return Status(StatusCode::kUnimplemented,
                  "sums of this type cannot be added up");
  }
  const DType wide = SumType(dtype);
  for (int64_t i = 0; i < n; ++i) {
    const double sum =
        ReadElement(wide, sums, i) + ReadElement(dtype, terms, i);
    WriteElement(wide, sum, sums, i);
  }
  return Status();
}

Status ReferenceStream::ClearUnlessFinite(DType dtype, const void* numbers,
                                          int64_t n, bool* finite) {
  for (int64_t i = 0; i < n; ++i) {
    *finite = *finite && std::isfinite(ReadElement(dtype, numbers, i));
  }
  return Status();
}

std::unique_ptr<Executable> ReferenceDevice::Compile(
    const CompiledProgram& program) const {
  return std::make_unique<ReferenceExecutable>(program);
}

}  // namespace cavs

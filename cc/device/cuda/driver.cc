#include "cc/device/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace cavs {
namespace {

// A driver refuses kernels of a compiler that is a generation newer.
constexpr int kOldestVersion = 12000;

Status TooOld(const std::string& got) {
  return Status(StatusCode::kUnimplemented,
                StrCat("NVIDIA driver: got ", got,
                       " but expected that of CUDA 12 or newer. Update "
                       "NVIDIA's driver, or use the CPU."));
}

}  // namespace

Status CudaDriver::Load(std::shared_ptr<const CudaDriver>* driver) {
  const char* const given = std::getenv("CAVS_LIBCUDA");
  const char* const path = given == nullptr ? "libcuda.so.1" : given;
  // Stays loaded: threads of the driver outlive every use of it.
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status(
        StatusCode::kUnimplemented,
        StrCat("NVIDIA driver: got `", dlerror(), "` but expected the library ",
               path, ". Install NVIDIA's driver, or use the CPU."));
  }
  const std::shared_ptr<CudaDriver> loaded(new CudaDriver());
#define CAVS_CUDA_FIND(member, name, arguments)                         \
  loaded->member =                                                      \
      reinterpret_cast<decltype(loaded->member)>(dlsym(library, name)); \
  if (loaded->member == nullptr) {                                      \
    return TooOld(StrCat(path, " without ", name));                     \
  }
  CAVS_CUDA_FUNCTIONS(CAVS_CUDA_FIND)
#undef CAVS_CUDA_FIND
  int version = 0;
  CAVS_RETURN_IF_ERROR(loaded->Check(loaded->DriverGetVersion(&version),
                                     "asking for the driver's version"));
  loaded->title_ =
      StrCat(path, " of CUDA ", version / 1000, ".", version % 1000 / 10);
  if (version < kOldestVersion) return TooOld(loaded->title_);
  const CudaResult started = loaded->Init(0);
  if (started == kCudaNoDevice) {
    return Status(StatusCode::kUnimplemented,
                  StrCat("GPU: got none from ", loaded->title_,
                         " but expected one. Look at `nvidia-smi` and at "
                         "CUDA_VISIBLE_DEVICES, or use the CPU."));
  }
  CAVS_RETURN_IF_ERROR(loaded->Check(started, "starting the driver"));
  *driver = loaded;
  return Status();
}

Status CudaDriver::Failure(CudaResult result, const char* what) const {
  const char *name = "", *text = "";
  GetErrorName(result, &name);
  GetErrorString(result, &text);
  if (result == kCudaOutOfMemory) {
    return Status(StatusCode::kResourceExhausted,
                  StrCat("GPU: got ", name, " (", text, ") from ", what,
                         " but expected enough memory. Use a smaller "
                         "minibatch, or free memory of the GPU."));
  }
  return Internal("GPU: got ", name, " (", text, ") from ", what,
                  " but expected success. After a fault of the GPU the process "
                  "has to be started again; until then the CPU can be used.");
}

}  // namespace cavs

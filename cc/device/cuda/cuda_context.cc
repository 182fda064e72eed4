#include "cc/device/cuda/cuda_context.h"

#include <algorithm>

#include "cc/device/cuda/cublas_lt.h"

namespace cavs {
namespace {

// The oldest GPU that has all instructions of the kernels: Ampere.
constexpr int kOldest = 80;

}  // namespace

Status CudaContext::Open(int ordinal, const Libraries& libraries,
                         std::shared_ptr<const CudaContext>* context) {
  std::shared_ptr<CudaContext> opened(new CudaContext());
  CAVS_RETURN_IF_ERROR(CudaDriver::Load(&opened->driver_));
  const CudaDriver& driver = *opened->driver_;
  int count = 0;
  CAVS_RETURN_IF_ERROR(
      driver.Check(driver.DeviceGetCount(&count), "counting GPUs"));
  if (ordinal >= count) {
    return Status(StatusCode::kUnimplemented,
                  StrCat("GPU ", ordinal, ": got ", count,
                         " GPUs but expected more. Look at `nvidia-smi` and at "
                         "CUDA_VISIBLE_DEVICES, or use the CPU."));
  }
  CAVS_RETURN_IF_ERROR(opened->LookAt(ordinal));
  CAVS_RETURN_IF_ERROR(
      CudaCompiler::Load(libraries.compilers, &opened->compiler_));
  CAVS_RETURN_IF_ERROR(driver.Check(
      driver.DevicePrimaryCtxRetain(&opened->handle_, opened->device_),
      "opening a GPU"));
  const Current current(*opened);
  CAVS_RETURN_IF_ERROR(CublasLt::Load(libraries.products, &opened->cublas_lt_));
  *context = std::move(opened);
  return Status();
}

Status CudaContext::LookAt(int ordinal) {
  CAVS_RETURN_IF_ERROR(
      driver_->Check(driver_->DeviceGet(&device_, ordinal), "a GPU"));
  const auto ask = [&](CudaAttribute attribute, int* value) {
    driver_->DeviceGetAttribute(value, attribute, device_);
  };
  ask(kCudaMajor, &major_);
  ask(kCudaMinor, &minor_);
  ask(kCudaMostGridY, &most_grid_y_);
  ask(kCudaProcessors, &num_processors_);
  ask(kCudaSharedBytesPerBlock, &shared_bytes_);
  int cooperative = 0;
  ask(kCudaCooperativeLaunch, &cooperative);
  launches_cooperatively_ = cooperative != 0;
  char name[128] = "";
  driver_->DeviceGetName(name, sizeof(name) - 1, device_);
  name_ = name;
  if (major_ * 10 + minor_ >= kOldest) return Status();
  return Status(
      StatusCode::kUnimplemented,
      StrCat("GPU ", ordinal, ": got a ", name, " of compute capability ",
             major_, ".", minor_, " but expected 8.0 or newer. Use the CPU."));
}

std::vector<std::string> CudaContext::Report(const Libraries& libraries) {
  std::vector<std::string> lines;
  // Adds what is said if all is well, or what is missing.
  const auto add = [&](const Status& status, const auto& found) {
    lines.push_back(status.ok() ? found() : status.message());
  };
  CudaContext own;
  Status status = CudaDriver::Load(&own.driver_);
  add(status, [&] { return "NVIDIA driver: " + own.driver_->title(); });
  int count = 0;
  if (status.ok()) own.driver().DeviceGetCount(&count);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    add(own.LookAt(ordinal), [&] {
      return StrCat("GPU ", ordinal, ": ", own.name_, ", compute capability ",
                    own.major_, ".", own.minor_);
    });
  }
  add(CudaCompiler::Load(libraries.compilers, &own.compiler_),
      [&] { return "NVRTC: " + own.compiler_->title(); });
  const std::string products = CublasLt::Report(libraries.products);
  if (!products.empty()) lines.push_back(products);
  return lines;
}

CudaContext::~CudaContext() {
  if (handle_ == nullptr) return;
  {
    const Current current(*this);
    cublas_lt_ = nullptr;
    for (const auto& [text, module] : modules_) driver_->ModuleUnload(module);
  }
  driver_->DevicePrimaryCtxRelease(device_);
}

Status CudaContext::Find(const CudaTextKernel& kernel,
                         CudaFunction* function) const {
  std::lock_guard<std::mutex> lock(mutex_);
  CudaFunction& found = functions_[kernel];
  if (found == nullptr) {
    const CudaText& text = *kernel.first;
    CAVS_RETURN_IF_ERROR(
        FindIn(StandaloneText(text), text.kernels[kernel.second].name, &found));
  }
  *function = found;
  return Status();
}

// Minibatches need kernels in different orders, and some need fewer. What was
// compiled for one serves the others.
Status CudaContext::FindWalk(const std::vector<CudaTextKernel>& kernels,
                             CudaFunction* function,
                             std::vector<int>* numbers) const {
  const auto serves = [&](const std::vector<CudaTextKernel>& known) {
    numbers->clear();
    for (const CudaTextKernel& kernel : kernels) {
      const auto found = std::find(known.begin(), known.end(), kernel);
      if (found == known.end()) return false;
      numbers->push_back(static_cast<int>(found - known.begin()));
    }
    return true;
  };
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [known, walk] : walks_) {
    *function = walk;
    if (serves(known)) return Status();
  }
  CAVS_RETURN_IF_ERROR(FindIn(TextOfWalk(kernels), "walk", function));
  walks_.emplace_back(kernels, *function);
  serves(kernels);
  return Status();
}

Status CudaContext::FindIn(const std::string& text, const std::string& kernel,
                           CudaFunction* function) const {
  CudaModuleHandle& module = modules_[text];
  if (module == nullptr) {
    std::string image;
    CAVS_RETURN_IF_ERROR(compiler_->Compile(text, major_, minor_, &image));
    CAVS_RETURN_IF_ERROR(driver_->Check(
        driver_->ModuleLoadData(&module, image.data()), "loading kernels"));
  }
  CudaFunction found;
  CAVS_RETURN_IF_ERROR(
      driver_->Check(driver_->ModuleGetFunction(&found, module, kernel.c_str()),
                     "finding a kernel"));
  CAVS_RETURN_IF_ERROR(
      driver_->Check(driver_->FuncSetAttribute(
                         found, kCudaMostDynamicSharedBytes, shared_bytes_),
                     "asking for shared memory"));
  *function = found;
  return Status();
}

CudaFoundKernels KernelsOf(const std::shared_ptr<const CudaText>& text) {
  CudaFoundKernels kernels;
  for (size_t i = 0; i < text->kernels.size(); ++i) {
    kernels.push_back(std::make_unique<CudaFoundKernel>(
        CudaTextKernel(text, static_cast<int>(i))));
  }
  return kernels;
}

}  // namespace cavs

// Registers kernels of GPUs.
#ifndef CAVS_CC_KERNELS_REGISTER_ON_GPU_H_
#define CAVS_CC_KERNELS_REGISTER_ON_GPU_H_

#include <cstdlib>
#include <initializer_list>
#include <string>

#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace cavs {

// Returns the type of the devices that count as GPUs: "GPU", or the type that
// the environment variable CAVS_CUDA_DEVICE_TYPE names. Returns an empty string
// unless CAVS_CUDA is 1, because users have to ask for kernels of GPUs.
inline std::string TypeOfGpus() {
  const char* const wanted = std::getenv("CAVS_CUDA");
  if (wanted == nullptr || std::string(wanted) != "1") return "";
  const char* const type = std::getenv("CAVS_CUDA_DEVICE_TYPE");
  return type == nullptr ? tensorflow::DEVICE_GPU : type;
}

// Registers a kernel of `op` for GPUs, which has the arguments `on_host` in the
// memory of the host; for each of `types` as this attribute, if there are any.
// Does nothing if users have not asked for kernels of GPUs. Call it when the
// library is loaded. Returns whether it registered the kernel.
template <typename Kernel>
bool RegisterOnGpu(const char* op, std::initializer_list<const char*> on_host,
                   std::initializer_list<tensorflow::DataType> types = {},
                   const char* attribute = "T") {
  const std::string type = TypeOfGpus();
  if (type.empty()) return false;
  tensorflow::KernelDefBuilder builder(op);
  builder.Device(type.c_str());
  if (types.size() > 0) builder.TypeConstraint(attribute, types);
  for (const char* argument : on_host) builder.HostMemory(argument);
  const tensorflow::kernel_factory::OpKernelRegistrar registrar(
      builder.Build(), op,
      [](tensorflow::OpKernelConstruction* context) -> tensorflow::OpKernel* {
        return new Kernel(context);
      });
  (void)registrar;
  return true;
}

}  // namespace cavs

#endif  // CAVS_CC_KERNELS_REGISTER_ON_GPU_H_

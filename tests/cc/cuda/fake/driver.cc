// The functions of the driver, but for those of memory and streams.
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/cc/cuda/fake/compiler.h"
#include "tests/cc/cuda/fake/entry.h"

namespace cavs_fake {
namespace {

// What a launch keeps until it is done.
constexpr size_t kMostArgumentBytes = 4096;
constexpr unsigned kMostShared = 227 << 10;
constexpr unsigned kMostThreads = 1024;
constexpr unsigned kMostGridZ = 65535;

// Whether an image is machine code of a GPU.
bool IsOfGpu(const void* image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return false;
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  return header.e_machine == EM_CUDA;
}

int Attribute(const Machine& m, int attribute) {
  const int architecture = static_cast<int>(m.Option("architecture"));
  switch (attribute) {
    case kMaxThreadsPerBlock:
    case kMaxBlockX:
    case kMaxBlockY:
      return kMostThreads;
    case kMaxBlockZ:
      return 64;
    case kMaxGridX:
      return 0x7fffffff;
    case kMaxGridY:
      return static_cast<int>(m.Option("grid_y"));
    case kMaxGridZ:
      return kMostGridZ;
    case kMaxSharedPerBlock:
      return 48 << 10;
    case kMaxSharedPerBlockOptIn:
      return kMostShared;
    case kMaxSharedPerProcessor:
      return kMostShared + 1024;
    case kReservedSharedPerBlock:
      return 1024;
    case kWarpSize:
    case kMaxBlocksPerProcessor:
      return 32;
    case kMaxRegistersPerBlock:
    case kMaxRegistersPerProcessor:
      return 65536;
    case kClockRate:
      return 1500000;
    case kMemoryClockRate:
      return 2600000;
    case kMemoryBusWidth:
      return 5120;
    case kL2Bytes:
      return 50 << 20;
    case kProcessors:
      return static_cast<int>(m.Option("processors"));
    case kMaxThreadsPerProcessor:
      return 2048;
    case kMajor:
      return architecture / 10;
    case kMinor:
      return architecture % 10;
    case kCanMapHostMemory:
    case kConcurrentKernels:
    case kUnifiedAddressing:
    case kStreamPriorities:
    case kManagedMemory:
    case kConcurrentManaged:
    case kCooperativeLaunch:
    case kMemoryPools:
      return 1;
    case kAsyncEngines:
      return 3;
    case kIntegrated:
    case kComputeMode:
    case kPciBusId:
    case kPciDeviceId:
    case kPageableMemory:
      return 0;
    default:
      return -1;
  }
}

// How many blocks a processor holds at once.
int Resident(unsigned threads, unsigned shared) {
  const unsigned warps = (threads + 31) / 32;
  return std::min({32u, 64 / warps, (kMostShared + 1024) / (shared + 1024)});
}

std::string Refusal(const Machine& m, const Kernel& kernel, const Shape& shape,
                    unsigned block_y, unsigned block_z, int* error) {
  *error = kInvalidValue;
  const auto got = [&](const char* what, size_t value, size_t most) {
    return kernel.code.name + ": " + what + " " + std::to_string(value) +
           ", at most " + std::to_string(most);
  };
  if (block_y != 1 || block_z != 1)
    return kernel.code.name + ": a block of many dimensions";
  if (shape.x == 0 || shape.y == 0 || shape.z == 0 || shape.threads == 0) {
    return kernel.code.name + ": an empty grid";
  }
  if (shape.x > 0x7fffffff) return got("grid.x", shape.x, 0x7fffffff);
  const auto most_y = static_cast<unsigned>(m.Option("grid_y"));
  if (shape.y > most_y) return got("grid.y", shape.y, most_y);
  if (shape.z > kMostGridZ) return got("grid.z", shape.z, kMostGridZ);
  if (shape.threads > kMostThreads) {
    return got("threads", shape.threads, kMostThreads);
  }
  if (shape.threads > unsigned(kernel.most_threads)) {
    return got("threads", shape.threads, kernel.most_threads);
  }
  if (shape.shared_bytes > unsigned(kernel.most_shared)) {
    return got("shared memory", shape.shared_bytes, kernel.most_shared);
  }
  if (kernel.argument_bytes > int(kMostArgumentBytes)) {
    return got("bytes of arguments", kernel.argument_bytes, kMostArgumentBytes);
  }
  const uint64_t blocks = uint64_t{shape.x} * shape.y * shape.z;
  const uint64_t resident =
      Resident(shape.threads, shape.shared_bytes) * m.Option("processors");
  if (shape.cooperative && blocks > resident) {
    *error = kCooperativeLaunchTooLarge;
    return got("blocks of a cooperative launch", blocks, resident);
  }
  return "";
}

int LaunchKernel(Call& call, Kernel* kernel, const Shape& shape,
                 unsigned block_y, unsigned block_z, void* stream_handle,
                 void** arguments) {
  Machine& m = call.machine;
  if (m.kernels.count(kernel) == 0) {
    return m.Refuse(kInvalidHandle, "a launch of what is no kernel");
  }
  const auto stream = m.FindStream(stream_handle);
  if (stream == nullptr) {
    return m.Refuse(kInvalidHandle, kernel->code.name + ": no such stream");
  }
  if (kernel->module->context != stream->context) {
    return m.Refuse(kInvalidHandle,
                    kernel->code.name + ": a stream of another context");
  }
  int error;
  const std::string refusal =
      Refusal(m, *kernel, shape, block_y, block_z, &error);
  if (!refusal.empty()) return m.Refuse(error, refusal);
  if (arguments == nullptr || arguments[0] == nullptr) {
    return m.Refuse(kInvalidValue, kernel->code.name + ": no arguments");
  }
  ++m.counts.launches;
  m.counts.cooperative += shape.cooperative;
  ++*kernel->launches;
  std::shared_ptr<void> copy;  // Null: the kernel does nothing.
  if (m.Option("compute") != 0) {
    // Aligned as the stack of a kernel would be.
    copy.reset(std::aligned_alloc(64, (kernel->argument_bytes + 63) / 64 * 64),
               std::free);
    std::memcpy(copy.get(), arguments[0], kernel->argument_bytes);
  }
  Shape there = shape;
  there.device = stream->context->device;
  const uint64_t seed = m.Option("seed");
  const uint64_t number = seed == 0 ? 0 : seed * 1000003 + m.counts.launches;
  return m.Put(call.lock, *stream,
               [&m, kernel, module = kernel->module, there, copy,
                number](Lock&) -> Fault {
                 if (module->unloaded) {
                   return {kInvalidHandle,
                           "a module is unloaded before its kernel has run"};
                 }
                 if (copy == nullptr) return {};
                 return m.grid.Run(kernel->code, there, copy.get(), number);
               });
}

}  // namespace

CAVS_FAKE(cuInit, unsigned flags) {
  BEGIN(Needs::kNothing);
  if (flags != 0) return kInvalidValue;
  m.initialized = true;
  while (m.contexts.size() < size_t(m.Option("devices"))) {
    m.contexts.push_back(std::make_unique<Context>());
    m.contexts.back()->device = m.contexts.size() - 1;
  }
  return m.contexts.empty() ? 100 : 0;
}

CAVS_FAKE(cuDriverGetVersion, int* version) {
  BEGIN(Needs::kNothing);
  *version = static_cast<int>(m.Option("driver"));
  return 0;
}

CAVS_FAKE(cuDeviceGetCount, int* count) {
  BEGIN(Needs::kDriver);
  *count = static_cast<int>(m.contexts.size());
  return 0;
}

CAVS_FAKE(cuDeviceGet, int* device, int ordinal) {
  BEGIN(Needs::kDriver);
  if (ordinal < 0 || ordinal >= int(m.contexts.size())) return kInvalidDevice;
  *device = ordinal;
  return 0;
}

CAVS_FAKE(cuDeviceGetName, char* name, int bytes, int device) {
  BEGIN(Needs::kDriver);
  if (device < 0 || device >= int(m.contexts.size())) return kInvalidDevice;
  std::snprintf(name, bytes, "Emulated device %d", device);
  return 0;
}

CAVS_FAKE(cuDeviceGetAttribute, int* value, int attribute, int device) {
  BEGIN(Needs::kDriver);
  if (device < 0 || device >= int(m.contexts.size())) return kInvalidDevice;
  const int got = Attribute(m, attribute);
  if (got < 0) {
    return m.Refuse(kInvalidValue, "no attribute " + std::to_string(attribute));
  }
  *value = got;
  return 0;
}

CAVS_FAKE(cuDeviceTotalMem_v2, size_t* bytes, int device) {
  BEGIN(Needs::kDriver);
  if (device < 0 || device >= int(m.contexts.size())) return kInvalidDevice;
  *bytes = m.Option("memory");
  return 0;
}

CAVS_FAKE(cuDevicePrimaryCtxRetain, Context** context, int device) {
  BEGIN(Needs::kDriver);
  if (device < 0 || device >= int(m.contexts.size())) return kInvalidDevice;
  *context = m.contexts[device].get();
  ++(*context)->retained;
  return 0;
}

CAVS_FAKE(cuDevicePrimaryCtxRelease_v2, int device) {
  BEGIN(Needs::kDriver);
  if (device < 0 || device >= int(m.contexts.size())) return kInvalidDevice;
  if (m.contexts[device]->retained == 0) return kInvalidContext;
  --m.contexts[device]->retained;
  return 0;
}

CAVS_FAKE(cuCtxGetCurrent, Context** context) {
  BEGIN(Needs::kDriver);
  *context = call.context;
  return 0;
}

CAVS_FAKE(cuCtxSetCurrent, Context* context) {
  BEGIN(Needs::kDriver);
  auto& contexts = CurrentContexts();
  if (!contexts.empty()) contexts.pop_back();
  if (context != nullptr) contexts.push_back(context);
  return 0;
}

CAVS_FAKE(cuCtxPushCurrent_v2, Context* context) {
  BEGIN(Needs::kDriver);
  if (context == nullptr) return kInvalidContext;
  CurrentContexts().push_back(context);
  return 0;
}

CAVS_FAKE(cuCtxPopCurrent_v2, Context** context) {
  BEGIN(Needs::kDriver);
  if (call.context == nullptr) return kInvalidContext;
  if (context != nullptr) *context = call.context;
  CurrentContexts().pop_back();
  return 0;
}

CAVS_FAKE(cuCtxGetDevice, int* device) {
  BEGIN(Needs::kContext);
  *device = call.context->device;
  return 0;
}

CAVS_FAKE(cuCtxSynchronize) {
  BEGIN(Needs::kContext);
  ++m.counts.host_waits;
  return m.AdvanceAll(call.lock);
}

CAVS_FAKE(cuGetErrorName, int error, const char** name) {
  *name = NameOf(error);
  return *name == nullptr ? kInvalidValue : 0;
}

CAVS_FAKE(cuGetErrorString, int error, const char** text) {
  *text = NameOf(error);
  return *text == nullptr ? kInvalidValue : 0;
}

CAVS_FAKE(cuModuleLoadData, Module** module, const void* image) {
  BEGIN(Needs::kContext);
  auto loaded = std::make_shared<Module>();
  loaded->context = call.context;
  // Without a library it has every kernel that is asked for.
  if (m.Option("compute") != 0 || !IsOfGpu(image)) {
    std::string error;
    loaded->library = LoadImage(image, &error);
    if (loaded->library == nullptr) return m.Refuse(kInvalidImage, error);
    const auto* architecture =
        static_cast<const int*>(dlsym(loaded->library, "cavs_architecture"));
    if (architecture == nullptr) {
      return m.Refuse(kInvalidImage, "an image of no kernels");
    }
    const int own = static_cast<int>(m.Option("architecture"));
    const bool is_ptx = *architecture < 0;  // The driver translates older PTX.
    if (std::abs(*architecture) > own ||
        (!is_ptx && *architecture / 10 != own / 10)) {
      return m.Refuse(kNoBinaryForGpu,
                      "an image for sm_" + std::to_string(*architecture));
    }
  }
  ++m.counts.modules;
  *module = loaded.get();
  m.modules[loaded.get()] = std::move(loaded);
  return 0;
}

CAVS_FAKE(cuModuleUnload, Module* module) {
  BEGIN(Needs::kContext);
  const auto found = m.modules.find(module);
  if (found == m.modules.end()) return kInvalidHandle;
  module->unloaded = true;
  for (const auto& [name, kernel] : module->kernels) {
    m.kernels.erase(kernel);
    kernel->module = nullptr;
  }
  m.modules.erase(found);
  return 0;
}

CAVS_FAKE(cuModuleGetFunction, Kernel** kernel, Module* module,
          const char* name) {
  BEGIN(Needs::kContext);
  const auto found = m.modules.find(module);
  if (found == m.modules.end()) return kInvalidHandle;
  Kernel*& known = module->kernels[name];
  if (known == nullptr && module->library == nullptr) {
    known = new Kernel{};
    known->code.name = name;
    known->most_threads = kMostThreads;
    known->module = found->second;
    m.kernels.insert(known);
  } else if (known == nullptr) {
    const auto symbol = [&](const char* prefix) {
      return dlsym(module->library, (prefix + std::string(name)).c_str());
    };
    void* entry = symbol("cavs_entry_");
    if (entry == nullptr) {
      module->kernels.erase(name);
      return m.Refuse(kNotFound, std::string("no kernel ") + name);
    }
    known = new Kernel();
    known->code.name = name;
    known->code.bind = reinterpret_cast<void (*)(Launch*)>(
        dlsym(module->library, "cavs_bind"));
    known->code.entry = reinterpret_cast<void (*)(const void*)>(entry);
    known->most_threads = *static_cast<const int*>(symbol("cavs_threads_"));
    known->argument_bytes = *static_cast<const int*>(symbol("cavs_bytes_"));
    known->module = found->second;
    m.kernels.insert(known);
  }
  known->launches = &m.launches[name];
  *kernel = known;
  return 0;
}

CAVS_FAKE(cuFuncGetAttribute, int* value, int attribute, Kernel* kernel) {
  BEGIN(Needs::kContext);
  if (m.kernels.count(kernel) == 0) return kInvalidHandle;
  switch (attribute) {
    case kFunctionThreads:
      *value = kernel->most_threads;
      return 0;
    case kFunctionDynamicShared:
      *value = kernel->most_shared;
      return 0;
    case kFunctionShared:
    case kFunctionLocal:
      *value = 0;
      return 0;
    case kFunctionConst:
      *value = kernel->argument_bytes;
      return 0;
    case kFunctionRegisters:
      *value = std::min(255, 65536 / kernel->most_threads);
      return 0;
    case kFunctionPtx:
    case kFunctionBinary:
      *value = static_cast<int>(m.Option("architecture"));
      return 0;
    default:
      return kInvalidValue;
  }
}

CAVS_FAKE(cuFuncSetAttribute, Kernel* kernel, int attribute, int value) {
  BEGIN(Needs::kContext);
  if (m.kernels.count(kernel) == 0) return kInvalidHandle;
  if (attribute != kFunctionDynamicShared || value < 0 ||
      value > int(kMostShared)) {
    return m.Refuse(kInvalidValue, kernel->code.name + ": attribute " +
                                       std::to_string(attribute) + " of " +
                                       std::to_string(value));
  }
  kernel->most_shared = value;
  return 0;
}

CAVS_FAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks,
          Kernel* kernel, int threads, size_t shared) {
  BEGIN(Needs::kContext);
  if (m.kernels.count(kernel) == 0) return kInvalidHandle;
  if (threads < 1 || threads > int(kMostThreads)) return kInvalidValue;
  const bool fits =
      threads <= kernel->most_threads && shared <= size_t(kernel->most_shared);
  *blocks = fits ? Resident(threads, shared) : 0;
  return 0;
}

CAVS_FAKE(cuLaunchKernel, Kernel* kernel, unsigned grid_x, unsigned grid_y,
          unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
          unsigned shared, void* stream, void** arguments, void** extra) {
  BEGIN(Needs::kContext);
  if (extra != nullptr) return kInvalidValue;
  return LaunchKernel(call, kernel,
                      {grid_x, grid_y, grid_z, block_x, shared, false}, block_y,
                      block_z, stream, arguments);
}

CAVS_FAKE(cuLaunchCooperativeKernel, Kernel* kernel, unsigned grid_x,
          unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
          unsigned block_z, unsigned shared, void* stream, void** arguments) {
  BEGIN(Needs::kContext);
  return LaunchKernel(call, kernel,
                      {grid_x, grid_y, grid_z, block_x, shared, true}, block_y,
                      block_z, stream, arguments);
}

}  // namespace cavs_fake

#include "tests/cc/cuda/fake/machine.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace cavs_fake {
namespace {

const std::map<std::string, int64_t>& Defaults() {
  static const auto* defaults =
      new std::map<std::string, int64_t>{{"lag", 1},
                                         {"seed", 1},
                                         {"devices", 1},
                                         {"architecture", 90},
                                         {"processors", 8},
                                         {"grid_y", 65535},
                                         {"memory", int64_t{16} << 30},
                                         {"driver", 13000},
                                         {"compute", 1}};
  return *defaults;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

const char* NameOf(int result) {
  switch (result) {
    case kSuccess:
      return "CUDA_SUCCESS";
    case kInvalidValue:
      return "CUDA_ERROR_INVALID_VALUE";
    case kOutOfMemory:
      return "CUDA_ERROR_OUT_OF_MEMORY";
    case kNotInitialized:
      return "CUDA_ERROR_NOT_INITIALIZED";
    case 100:
      return "CUDA_ERROR_NO_DEVICE";
    case kInvalidDevice:
      return "CUDA_ERROR_INVALID_DEVICE";
    case kInvalidImage:
      return "CUDA_ERROR_INVALID_IMAGE";
    case kInvalidContext:
      return "CUDA_ERROR_INVALID_CONTEXT";
    case kNoBinaryForGpu:
      return "CUDA_ERROR_NO_BINARY_FOR_GPU";
    case 214:
      return "CUDA_ERROR_ECC_UNCORRECTABLE";
    case kInvalidHandle:
      return "CUDA_ERROR_INVALID_HANDLE";
    case kNotFound:
      return "CUDA_ERROR_NOT_FOUND";
    case kNotReady:
      return "CUDA_ERROR_NOT_READY";
    case kIllegalAddress:
      return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case 701:
      return "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
    case kMisaligned:
      return "CUDA_ERROR_MISALIGNED_ADDRESS";
    case kLaunchFailed:
      return "CUDA_ERROR_LAUNCH_FAILED";
    case kCooperativeLaunchTooLarge:
      return "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE";
    case kNotPermitted:
      return "CUDA_ERROR_NOT_PERMITTED";
    case 46:
      return "CUDA_ERROR_DEVICE_UNAVAILABLE";
    case 999:
      return "CUDA_ERROR_UNKNOWN";
    default:
      return nullptr;
  }
}

Module::~Module() {
  for (const auto& [name, kernel] : kernels) delete kernel;
  if (library != nullptr) dlclose(library);
}

std::vector<Context*>& CurrentContexts() {
  thread_local std::vector<Context*> contexts;
  return contexts;
}

bool& InHostFunction() {
  thread_local bool inside = false;
  return inside;
}

// Never destroyed: other threads and destructors of statics may still call.
Machine& Machine::Get() {
  static Machine* machine = new Machine();
  return *machine;
}

Machine::Machine()
    : grid([this](const void* at) { return memory.IsHost(at); },
           [this](const void* at, unsigned bytes) {
             return memory.Inside(at, bytes);
           }) {
  Reset();
}

void Machine::Reset() {
  options_ = Defaults();
  plans_.clear();
  fault_ = {};
  random_ = 1;
  const int64_t in_use = memory.bytes_in_use();
  counts = {};
  counts.bytes_in_use = counts.most_bytes_in_use = in_use;
  for (auto& [name, count] : launches) count = 0;
  for (auto& [name, count] : calls) count = 0;
  ignored_ = Environment("CAVS_FAKE_IGNORE");
  std::istringstream options(Environment("CAVS_FAKE_OPTIONS"));
  for (std::string option; std::getline(options, option, ',');) {
    const size_t equals = option.find('=');
    if (equals == std::string::npos ||
        !Set(option.substr(0, equals),
             std::atoll(option.c_str() + equals + 1))) {
      std::fprintf(stderr, "CAVS_FAKE_OPTIONS: no option %s\n", option.c_str());
    }
  }
  std::istringstream plan(Environment("CAVS_FAKE_FAIL"));
  std::string function, before, error;
  if (std::getline(plan, function, ':') && std::getline(plan, before, ':') &&
      std::getline(plan, error)) {
    FailCall(function, std::atoll(before.c_str()), std::atoi(error.c_str()));
  }
}

bool Machine::Set(const std::string& option, int64_t value) {
  const auto found = options_.find(option);
  if (found == options_.end()) return false;
  found->second = value;
  if (option == "seed") random_ = value * 2 + 1;
  return true;
}

void Machine::FailCall(const std::string& function, int64_t calls_before,
                       int error) {
  plans_[function] = {calls_before, error};
}

int64_t* Machine::CallsOf(const char* function) {
  const Lock lock(mutex);
  return &calls[function];
}

int Machine::Planned(const char* function) {
  const auto plan = plans_.find(function);
  if (plan == plans_.end() || plan->second.calls_before-- > 0) return 0;
  const int error = plan->second.error;
  const std::string text = plan->first + " was told to fail";
  plans_.erase(plan);
  // Errors of kernels and of a lost device stay, as those of a device do.
  if (error >= kIllegalAddress && error < kCooperativeLaunchTooLarge) {
    Fail({error, text});
  }
  return Refuse(error, text);
}

uint64_t Machine::Draw() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_ >> 20;
}

int Machine::Put(Lock& lock, Stream& stream, Work work) {
  stream.work.push_back(std::move(work));
  ++stream.put;
  const int64_t lag = Option("lag");
  if (lag == 0) return Advance(lock, stream, stream.put);
  if (lag == 2 && Draw() % 4 == 0) {
    std::vector<std::shared_ptr<Stream>> all;
    for (const auto& [handle, one] : streams) all.push_back(one);
    for (const auto& one : all) {
      const int64_t left = one->put - one->done;
      if (left > 0) Advance(lock, *one, one->done + Draw() % (left + 1));
    }
  }
  return 0;
}

int Machine::Advance(Lock& lock, Stream& stream, int64_t point) {
  while (stream.done < point) {
    if (stream.busy) {
      changed_.wait(lock);
      continue;
    }
    Work work = std::move(stream.work.front());
    stream.work.pop_front();
    stream.busy = true;
    // After a fault nothing is done any more.
    if (fault_.error == 0) {
      const Fault fault = work(lock);
      if (fault.error != 0) Fail(fault);
    }
    work = nullptr;
    stream.busy = false;
    ++stream.done;
    changed_.notify_all();
  }
  return fault_.error;
}

int Machine::AdvanceAll(Lock& lock) {
  std::vector<std::shared_ptr<Stream>> all;
  for (const auto& [handle, stream] : streams) all.push_back(stream);
  for (const auto& [context, stream] : default_streams_) all.push_back(stream);
  for (const auto& stream : all) Advance(lock, *stream, stream->put);
  return fault_.error;
}

void Machine::Fail(const Fault& fault) {
  ++counts.faults;
  if (fault_.error != 0) return;
  fault_ = fault;
  std::fprintf(stderr, "fake CUDA: %s: %s\n", NameOf(fault.error),
               fault.text.c_str());
}

int Machine::Refuse(int error, const std::string& text) {
  if (fault_.error == 0) fault_.text = text;
  return error;
}

std::shared_ptr<Stream> Machine::FindStream(void* handle) {
  if (handle == nullptr) {
    if (CurrentContexts().empty()) return nullptr;
    std::shared_ptr<Stream>& stream =
        default_streams_[CurrentContexts().back()];
    if (stream == nullptr) {
      stream = std::make_shared<Stream>();
      stream->context = CurrentContexts().back();
    }
    return stream;
  }
  const auto found = streams.find(handle);
  return found == streams.end() ? nullptr : found->second;
}

Call::Call(const char* function, int64_t* calls, Needs needs)
    : machine(Machine::Get()), lock(machine.mutex) {
  if (!CurrentContexts().empty()) context = CurrentContexts().back();
  ++*calls;
  ignored = machine.Ignores(function);
  if (needs != Needs::kNothing && !machine.initialized) {
    error = kNotInitialized;
  } else if (InHostFunction()) {
    error = machine.Refuse(
        kNotPermitted, std::string(function) + " in a function of a stream");
  } else if ((error = machine.Planned(function)) != 0) {
    return;
  } else if (needs == Needs::kContext && context == nullptr) {
    error = machine.Refuse(kInvalidContext,
                           std::string(function) + " without a context");
  } else if (needs == Needs::kContext) {
    error = machine.fault();
  }
}

}  // namespace cavs_fake

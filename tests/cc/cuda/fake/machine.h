// A process's fake machine: devices, their memory, streams, and what was done.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_MACHINE_H_
#define CAVS_TESTS_CC_CUDA_FAKE_MACHINE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/cc/cuda/fake/control.h"
#include "tests/cc/cuda/fake/cuda_api.h"
#include "tests/cc/cuda/fake/grid.h"
#include "tests/cc/cuda/fake/memory.h"

namespace cavs_fake {

struct Context {
  int device;
  int retained = 0;
};

// A loaded image. Work in a stream may outlive it: then it fails.
struct Module {
  ~Module();
  Context* context = nullptr;
  void* library = nullptr;
  bool unloaded = false;
  std::map<std::string, struct Kernel*> kernels;
};

struct Kernel {
  KernelCode code;
  int64_t* launches;  // Counts them.
  int most_threads;
  int argument_bytes;
  int most_shared = 48 << 10;
  std::shared_ptr<Module> module;
};

// Work, which holds the machine's lock except while it calls the host.
using Lock = std::unique_lock<std::mutex>;
using Work = std::function<Fault(Lock&)>;

struct Stream {
  Context* context;
  std::deque<Work> work;
  int64_t put = 0, done = 0;
  bool busy = false;
};

struct Event {
  Context* context;
  bool timed;
  std::shared_ptr<Stream> stream;  // Null: never recorded.
  int64_t point = 0;
  std::shared_ptr<double> seconds;  // When the point was reached.
};

// What a call has to find.
enum class Needs { kNothing, kDriver, kContext };

// The one machine of the process. A call of the driver locks it, work too.
class Machine {
 public:
  static Machine& Get();

  std::mutex mutex;

  bool Set(const std::string& option, int64_t value);
  int64_t Option(const std::string& option) const {
    return options_.at(option);
  }
  void Reset();
  void FailCall(const std::string& function, int64_t calls_before, int error);
  // How often a function was called; the same place whenever it is asked for.
  int64_t* CallsOf(const char* function);
  // What a call of this function returns at once, or 0.
  int Planned(const char* function);
  bool Ignores(const char* function) const { return function == ignored_; }

  // Puts work into a stream; does it at once if streams do not lag.
  int Put(Lock& lock, Stream& stream, Work work);
  // Does the stream's work up to a point. Returns the fault of the device.
  int Advance(Lock& lock, Stream& stream, int64_t point);
  int AdvanceAll(Lock& lock);
  void Drain(Stream& stream);

  // A fault stays: all later calls return it.
  void Fail(const Fault& fault);
  int fault() const { return fault_.error; }
  const std::string& fault_text() const { return fault_.text; }
  // Says why a call fails, and returns the error.
  int Refuse(int error, const std::string& text);

  std::shared_ptr<Stream> FindStream(void* handle);

  bool initialized = false;
  std::vector<std::unique_ptr<Context>> contexts;
  Memory memory;
  Grid grid;
  std::set<Kernel*> kernels;
  std::map<void*, std::shared_ptr<Stream>> streams;
  std::map<void*, std::unique_ptr<Event>> events;
  std::map<void*, std::shared_ptr<Module>> modules;
  FakeCounts counts{};
  // By name. Places stay, so that a call need not look for its own.
  std::map<std::string, int64_t> launches, calls;

 private:
  Machine();
  uint64_t Draw();

  std::condition_variable changed_;
  std::map<std::string, int64_t> options_;
  struct Plan {
    int64_t calls_before;
    int error;
  };
  std::map<std::string, Plan, std::less<>> plans_;
  std::string ignored_;
  Fault fault_;
  uint64_t random_ = 1;
  std::map<Context*, std::shared_ptr<Stream>> default_streams_;
};

// A call of the driver by the host.
class Call {
 public:
  Call(const char* function, int64_t* calls, Needs needs);

  Machine& machine;
  Lock lock;
  int error = 0;
  bool ignored = false;        // It does nothing.
  Context* context = nullptr;  // The current one of this thread.
};

// The contexts of this thread, the current one last.
std::vector<Context*>& CurrentContexts();
// Whether this thread runs a function that the host put into a stream.
bool& InHostFunction();

}  // namespace cavs_fake

#endif  // CAVS_TESTS_CC_CUDA_FAKE_MACHINE_H_

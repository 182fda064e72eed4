// MXNet's engine, through the C API of a library that is loaded if it exists.
#ifndef CAVS_BENCHMARKS_CC_ENGINE_MXNET_PEER_H_
#define CAVS_BENCHMARKS_CC_ENGINE_MXNET_PEER_H_

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "benchmarks/cc/engine/peers.h"

namespace cavs::bench {

// The functions of its c_api.h that are used.
struct MxnetApi {
  using Handle = void*;
  int (*create)(const uint32_t* shape, uint32_t rank, int device_type,
                int device, int delay_allocation, int dtype, Handle* out);
  int (*free)(Handle array);
  int (*wait_all)();
  int (*push)(void (*function)(void*, void*), void* argument,
              void (*deleter)(void*), const void* context, Handle* read,
              int num_read, Handle* mutate, int num_mutate,
              const void* property, int priority, const char* name);

  // False if there is no library.
  bool Load(int workers) {
    const char* path = std::getenv("CAVS_MXNET_LIBRARY");
    if (path == nullptr) return false;
    setenv("MXNET_ENGINE_TYPE",
           workers == 0 ? "NaiveEngine" : "ThreadedEnginePerDevice", 0);
    setenv("MXNET_CPU_WORKER_NTHREADS", std::to_string(workers).c_str(), 0);
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && Find(library, "MXNDArrayCreateEx", &create) &&
           Find(library, "MXNDArrayFree", &free) &&
           Find(library, "MXNDArrayWaitAll", &wait_all) &&
           Find(library, "MXEnginePushSyncND", &push);
  }

 private:
  template <typename F>
  static bool Find(void* library, const char* name, F* function) {
    *function = reinterpret_cast<F>(dlsym(library, name));
    return *function != nullptr;
  }
};

class MxnetPeer : public Peer {
 public:
  MxnetPeer(const Shape& shape, const MxnetApi& api)
      : shape_(shape), api_(api) {
    const uint32_t one = 1;
    for (int i = 0; i < shape.variables; ++i) {
      MxnetApi::Handle array = nullptr;
      api_.create(&one, 1, 1, 0, 1, 0,
                  &array);  // A tag for an array that is not allocated.
      arrays_.push_back(array);
    }
  }
  ~MxnetPeer() override {
    for (MxnetApi::Handle array : arrays_) api_.free(array);
  }

  void Run(std::atomic<int64_t>* count) override {
    const struct {
      int type, device;
    } cpu = {1, 0};
    for (const Operation& op : shape_.operations) {
      MxnetApi::Handle read[] = {arrays_[op.read[0]], arrays_[op.read[1]]};
      // MXNet requires that callers name no variable twice.
      int num_read = op.read[0] == op.read[1] ? 1 : 2;
      if (read[num_read - 1] == arrays_[op.mutate]) --num_read;
      if (num_read > 0 && read[0] == arrays_[op.mutate])
        read[0] = read[--num_read];
      api_.push(&Call, count, nullptr, &cpu, read, num_read,
                &arrays_[op.mutate], 1, nullptr, 0, nullptr);
    }
    api_.wait_all();
  }

 private:
  static void Call(void*, void* argument) {
    if (argument != nullptr) ++*static_cast<std::atomic<int64_t>*>(argument);
  }

  const Shape shape_;
  const MxnetApi api_;
  std::vector<MxnetApi::Handle> arrays_;
};

inline std::unique_ptr<Peer> MakeMxnet(const Shape& shape, int workers) {
  MxnetApi api;
  if (!api.Load(workers)) return nullptr;
  return std::make_unique<MxnetPeer>(shape, api);
}

}  // namespace cavs::bench

#endif  // CAVS_BENCHMARKS_CC_ENGINE_MXNET_PEER_H_

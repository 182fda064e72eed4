// The driver's functions of memory.
#include <cstring>
#include <memory>
#include <string>

#include "tests/cc/cuda/fake/entry.h"

namespace cavs_fake {
namespace {

using Address = unsigned long long;

void* Real(Address address) {
  return reinterpret_cast<void*>(address & ((Address{1} << kDeviceShift) - 1));
}

Fault NotOfTheDevice(const char* what, const void* at, size_t bytes) {
  char text[200];
  std::snprintf(text, sizeof(text),
                "%s: %zu bytes from %p are not in memory of the device", what,
                bytes, at);
  return {kIllegalAddress, text};
}

int Allocate(Call& call, Address* address, size_t bytes) {
  Machine& m = call.machine;
  if (bytes == 0) return m.Refuse(kInvalidValue, "an allocation of 0 bytes");
  if (m.memory.bytes_in_use() + int64_t(bytes) > m.Option("memory")) {
    return m.Refuse(kOutOfMemory, "the device has no more memory");
  }
  void* at = m.memory.Allocate(MemoryKind::kDevice, bytes);
  if (at == nullptr) return m.Refuse(kOutOfMemory, "the host has no memory");
  *address = reinterpret_cast<Address>(at) | WallOf(call.context->device);
  ++m.counts.allocations;
  m.counts.bytes_in_use = m.memory.bytes_in_use();
  m.counts.most_bytes_in_use =
      std::max(m.counts.most_bytes_in_use, m.counts.bytes_in_use);
  return 0;
}

// A place of the host that a copy reads or writes when it is done: what was
// allocated by the driver must live until then.
class HostPlace {
 public:
  HostPlace(Machine& m, const void* at, size_t bytes)
      : at_(at), bytes_(bytes), number_(m.memory.HostBlock(at)) {}

  Fault Check(Machine& m, const char* what) const {
    if (m.memory.HostBlock(at_) == number_ &&
        (number_ == 0 || m.memory.Inside(at_, bytes_))) {
      return {};
    }
    return {kIllegalAddress,
            std::string(what) +
                ": memory of the host was freed before the copy was done"};
  }

 private:
  const void* at_;
  size_t bytes_;
  uint64_t number_;
};

enum class Way { kUp, kDown, kAcross };

// `kept`, if there is one, is copied in place of `from`.
int Copy(Call& call, const char* what, Way way, void* to, const void* from,
         size_t bytes, void* handle, bool wait,
         std::shared_ptr<const void> kept = nullptr) {
  Machine& m = call.machine;
  const auto stream = m.FindStream(handle);
  if (stream == nullptr) {
    return m.Refuse(kInvalidHandle, std::string(what) + ": no such stream");
  }
  switch (way) {
    case Way::kUp:
      ++m.counts.uploads;
      m.counts.bytes_up += bytes;
      break;
    case Way::kDown:
      ++m.counts.downloads;
      m.counts.bytes_down += bytes;
      break;
    case Way::kAcross:
      ++m.counts.copies;
      m.counts.bytes_copied += bytes;
  }
  if (bytes == 0) return 0;
  const HostPlace host(m, way == Way::kUp ? from : to, bytes);
  const int error = m.Put(call.lock, *stream, [=, &m](Lock&) -> Fault {
    if (way != Way::kAcross) {
      const Fault fault = host.Check(m, what);
      if (fault.error != 0) return fault;
    }
    if (way != Way::kDown && !m.memory.Inside(to, bytes)) {
      return NotOfTheDevice(what, to, bytes);
    }
    if (way != Way::kUp && !m.memory.Inside(from, bytes)) {
      return NotOfTheDevice(what, from, bytes);
    }
    if (m.Option("compute") == 0) return {};
    std::memmove(to, kept == nullptr ? from : kept.get(), bytes);
    return {};
  });
  if (!wait || error != 0) return error;
  ++m.counts.host_waits;
  return m.Advance(call.lock, *stream, stream->put);
}

}  // namespace

CAVS_FAKE(cuMemAlloc_v2, Address* address, size_t bytes) {
  BEGIN(Needs::kContext);
  return Allocate(call, address, bytes);
}

CAVS_FAKE(cuMemAllocAsync, Address* address, size_t bytes, void* handle) {
  BEGIN(Needs::kContext);
  if (m.FindStream(handle) == nullptr) return kInvalidHandle;
  return Allocate(call, address, bytes);
}

CAVS_FAKE(cuMemAllocManaged, Address* address, size_t bytes, unsigned) {
  BEGIN(Needs::kContext);
  if (bytes == 0) return kInvalidValue;
  void* at = m.memory.Allocate(MemoryKind::kManaged, bytes);
  if (at == nullptr) return kOutOfMemory;
  *address = reinterpret_cast<Address>(at);
  return 0;
}

CAVS_FAKE(cuMemFree_v2, Address address) {
  BEGIN(Needs::kContext);
  if (address == 0) return 0;
  ++m.counts.host_waits;
  if (const int error = m.AdvanceAll(call.lock); error != 0) return error;
  const MemoryKind kind =
      (address & kWall) != 0 ? MemoryKind::kDevice : MemoryKind::kManaged;
  if (!m.memory.Free(kind, Real(address))) {
    return m.Refuse(kInvalidValue, "cuMemFree of what was not allocated");
  }
  m.counts.frees += kind == MemoryKind::kDevice;
  m.counts.bytes_in_use = m.memory.bytes_in_use();
  return 0;
}

CAVS_FAKE(cuMemFreeAsync, Address address, void* handle) {
  BEGIN(Needs::kContext);
  const auto stream = m.FindStream(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (address == 0) return 0;
  if (m.memory.BytesAt(Real(address)) == 0) {
    return m.Refuse(kInvalidValue, "cuMemFreeAsync of what was not allocated");
  }
  ++m.counts.frees;
  return m.Put(call.lock, *stream, [&m, address](Lock&) -> Fault {
    if (!m.memory.Free(MemoryKind::kDevice, Real(address))) {
      return {kInvalidValue, "cuMemFreeAsync of what is free already"};
    }
    m.counts.bytes_in_use = m.memory.bytes_in_use();
    return {};
  });
}

CAVS_FAKE(cuMemGetInfo_v2, size_t* free, size_t* total) {
  BEGIN(Needs::kContext);
  *total = m.Option("memory");
  *free = *total - m.memory.bytes_in_use();
  return 0;
}

CAVS_FAKE(cuMemHostAlloc, void** at, size_t bytes, unsigned) {
  BEGIN(Needs::kContext);
  if (bytes == 0) return kInvalidValue;
  *at = m.memory.Allocate(MemoryKind::kPinned, bytes);
  return *at == nullptr ? kOutOfMemory : 0;
}

// Does not wait: what still copies from it fails.
CAVS_FAKE(cuMemFreeHost, void* at) {
  BEGIN(Needs::kContext);
  if (m.memory.Free(MemoryKind::kPinned, at)) return 0;
  return m.Refuse(kInvalidValue, "cuMemFreeHost of what was not allocated");
}

CAVS_FAKE(cuMemcpyHtoDAsync_v2, Address to, const void* from, size_t bytes,
          void* stream) {
  BEGIN(Needs::kContext);
  return Copy(call, "cuMemcpyHtoDAsync", Way::kUp, Real(to), from, bytes,
              stream, false);
}

CAVS_FAKE(cuMemcpyDtoHAsync_v2, void* to, Address from, size_t bytes,
          void* stream) {
  BEGIN(Needs::kContext);
  return Copy(call, "cuMemcpyDtoHAsync", Way::kDown, to, Real(from), bytes,
              stream, false);
}

CAVS_FAKE(cuMemcpyDtoDAsync_v2, Address to, Address from, size_t bytes,
          void* stream) {
  BEGIN(Needs::kContext);
  return Copy(call, "cuMemcpyDtoDAsync", Way::kAcross, Real(to), Real(from),
              bytes, stream, false);
}

// Returns when the numbers are read, perhaps before they are written: a stream
// that does not wait for the first one may be earlier.
CAVS_FAKE(cuMemcpyHtoD_v2, Address to, const void* from, size_t bytes) {
  BEGIN(Needs::kContext);
  ++m.counts.host_waits;
  const std::shared_ptr<char[]> staged(new char[bytes]);
  std::memcpy(staged.get(), from, bytes);
  return Copy(call, "cuMemcpyHtoD", Way::kUp, Real(to), from, bytes, nullptr,
              false, staged);
}

CAVS_FAKE(cuMemcpyDtoH_v2, void* to, Address from, size_t bytes) {
  BEGIN(Needs::kContext);
  return Copy(call, "cuMemcpyDtoH", Way::kDown, to, Real(from), bytes, nullptr,
              true);
}

CAVS_FAKE(cuMemsetD8Async, Address to, unsigned char value, size_t bytes,
          void* handle) {
  BEGIN(Needs::kContext);
  const auto stream = m.FindStream(handle);
  if (stream == nullptr) return kInvalidHandle;
  ++m.counts.memsets;
  if (bytes == 0) return 0;
  return m.Put(call.lock, *stream, [&m, to, value, bytes](Lock&) -> Fault {
    if (!m.memory.Inside(Real(to), bytes)) {
      return NotOfTheDevice("cuMemsetD8Async", Real(to), bytes);
    }
    if (m.Option("compute") == 0) return {};
    std::memset(Real(to), value, bytes);
    return {};
  });
}

}  // namespace cavs_fake

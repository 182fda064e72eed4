#include "cc/device/cpu/isa_limit.h"

#include <cstdlib>
#include <cstring>

namespace cavs {
namespace {

struct Limit {
  Isa most = Isa::kAvx512Bf16;
  Status status;
};

const Limit& LimitOfProcess() {
  static const Limit limit = [] {
    Limit read;
    read.status = ReadIsaLimit(std::getenv("CAVS_MAX_CPU_ISA"), &read.most);
    return read;
  }();
  return limit;
}

}  // namespace

Status ReadIsaLimit(const char* value, Isa* most) {
  *most = Isa::kAvx512Bf16;
  if (value == nullptr) return Status();
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16}) {
    if (std::strcmp(value, IsaName(isa)) != 0) continue;
    *most = isa;
    return Status();
  }
  return InvalidArgument("CAVS_MAX_CPU_ISA: got '", value,
                         "' but expected one of portable, avx2, avx512, "
                         "avx512bf16. Correct the environment variable, or "
                         "unset it.");
}

Status CheckIsaLimit() { return LimitOfProcess().status; }

Isa IsaLimit() { return LimitOfProcess().most; }

}  // namespace cavs

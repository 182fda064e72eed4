#include "cc/exec/memory_need.h"

#include <algorithm>
#include <string>

#include "cc/base/byte_count.h"

namespace cavs {
namespace {

Status TooLarge(const std::string& minibatch, bool keeps_most) {
  const char* advice =
      keeps_most
          ? "Use a smaller minibatch, and add up the gradients of several."
          : "Use a smaller minibatch, or, for fewer temporaries, a smaller "
            "micro_batch: of data.batch, or of Options if the graphs have no "
            "schedule.";
  return Status(StatusCode::kResourceExhausted,
                StrCat("minibatch: got ", minibatch,
                       " but expected one that fits into the memory that is "
                       "available. ",
                       advice));
}

}  // namespace

size_t MemoryNeed::workspace() const {
  return SaturatingAdd(SaturatingAdd(state, tape),
                       SaturatingAdd(temporaries, packed_weights));
}

size_t MemoryNeed::total() const { return SaturatingAdd(workspace(), results); }

MemoryNeed& MemoryNeed::operator+=(const MemoryNeed& other) {
  state = SaturatingAdd(state, other.state);
  tape = SaturatingAdd(tape, other.tape);
  temporaries = SaturatingAdd(temporaries, other.temporaries);
  packed_weights = SaturatingAdd(packed_weights, other.packed_weights);
  results = SaturatingAdd(results, other.results);
  return *this;
}

std::string ToString(const MemoryNeed& need) {
  return StrCat(need.total(), " bytes (", need.state, " state, ", need.tape,
                " tape, ", need.temporaries, " temporaries, ",
                need.packed_weights, " packed weights, ", need.results,
                " results)");
}

size_t TrainingPeak(const MemoryNeed& forward, const MemoryNeed& backward) {
  const size_t kept = SaturatingAdd(forward.state, forward.tape);
  const size_t results = SaturatingMultiply(2, forward.results);
  return std::max(forward.total(), SaturatingAdd(SaturatingAdd(kept, results),
                                                 backward.total()));
}

Status DoesNotFit(const MemoryNeed& need) {
  return TooLarge(StrCat("one that needs ", ToString(need)),
                  need.tape > need.temporaries);
}

Status DoesNotFit(const MemoryNeed& forward, const MemoryNeed& backward) {
  return TooLarge(
      StrCat("one whose training step needs ", TrainingPeak(forward, backward),
             " bytes at its peak (forward: ", ToString(forward),
             "; backward: ", ToString(backward), ")"),
      forward.tape > backward.temporaries);
}

}  // namespace cavs

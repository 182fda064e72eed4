#include "cc/kernels/cpu_op_device.h"

#include <optional>

#include "cc/device/cpu/cpu_stream.h"
#include "cc/exec/guards.h"
#include "cc/kernels/status_util.h"
#include "cc/kernels/team_of.h"

namespace cavs {
namespace {

// If guard zones look for faults, minibatches of any size have separate
// programs for leaves.
CpuDevice::Options CpuOptions() {
  CpuDevice::Options options;
  if (GuardZonesWanted()) {
    options.nanos_per_program = options.nanos_per_weight_byte = 0;
  }
  return options;
}

}  // namespace

CpuOpDevice::CpuOpDevice(bool two_streams)
    : device_(CpuOptions()),
      engine_(two_streams ? std::make_unique<engine::Engine>(engine::Streams(2))
                          : nullptr) {}

absl::Status CpuOpDevice::RunInStreams(tensorflow::OpKernelContext* context,
                                       bool one_stream, StepContext* own,
                                       Step step) const {
  const std::shared_ptr<Team> team = TeamOf(context);
  if (one_stream || engine_ == nullptr) {
    InlineStream stream(team.get());
    own->stream = &stream;
    return ToAbsl(step(*own));
  }
  TwoCpuStreams streams(engine_.get(), team.get());
  own->stream = streams.critical();
  own->other = streams.other();
  return ToAbsl(step(*own));
}

}  // namespace cavs

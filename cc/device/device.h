// The boundary between what runs when (cc/exec) and how it is computed.
#ifndef CAVS_CC_DEVICE_DEVICE_H_
#define CAVS_CC_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/device/bindings.h"
#include "cc/device/memory.h"
#include "cc/device/stream.h"
#include "cc/ir/capabilities.h"
#include "cc/ir/compiled_program.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// A program with the memory of one step. Lives for that step. Stages of
// different chunks may run at the same time in different streams, if no storage
// is reused from chunk to chunk.
class BoundProgram {
 public:
  virtual ~BoundProgram() = default;

  // To be called once, before any stage runs and after weights are bound.
  virtual Status Prepare(Stream* stream) = 0;
  // Runs the nodes of a stage over some rows: a task or a block of a chunk. May
  // return before the work is done; the work reads the bindings.
  virtual Status Run(Stage stage, const RowRange& rows, Stream* stream) = 0;
  // To be called when all stages over rows have run: sets sums of no rows to
  // zero, and rounds sums that were formed in a wider type.
  virtual Status FinishSums(Stream* stream) = 0;
};

// A compiled program. Immutable: any number of steps may share it.
class Executable {
 public:
  virtual ~Executable() = default;

  // Bytes of device memory that a step needs in addition to its values.
  virtual size_t WorkspaceBytes(const TypeRows& rows) const = 0;
  // Bytes of device memory for constants, which the first step takes and later
  // ones reuse; and how many of them have been taken.
  struct Constants {
    size_t bytes = 0, taken = 0;
  };
  virtual Constants constants() const { return {}; }
  // A rough estimate of how long one worker takes for a step of such tasks.
  virtual double Nanos(const TaskCount& tasks) const = 0;
  // `bindings` and the program must outlive the result. Slots whose storage is
  // that of a chunk may be changed between chunks, when Stream::Settle() has
  // returned in all streams.
  virtual std::unique_ptr<BoundProgram> Bind(Bindings* bindings) const = 0;
};

// Thread safety: any thread may call any method at any time.
class Device {
 public:
  virtual ~Device() = default;

  virtual Capabilities capabilities() const = 0;
  virtual std::shared_ptr<Memory> memory() const = 0;
  // The most rows that eager and lazy stages run over at a time, if a row takes
  // so many bytes.
  virtual int64_t RowsPerBlock(int64_t bytes_per_row) const = 0;
  // About how long it takes to run one more program in a step, with weights of
  // so many bytes: to look for infinity and NaN in them, to pack them, and to
  // add one more gradient of each.
  virtual double NanosPerProgram(int64_t weight_bytes) const = 0;
  // Bytes of device memory for the copy of a list of so many row numbers; 0 if
  // lists are read where they are.
  virtual size_t BytesOfList(int64_t) const { return 0; }
  size_t BytesOfLists(const std::vector<Span<int32_t>>& lists) const {
    size_t bytes = 0;
    for (const Span<int32_t>& list : lists) bytes += BytesOfList(list.size());
    return bytes;
  }
  // Makes lists of row numbers readable in the stream, and in all that waits
  // for it: on_device[i] is the copy of lists[i], never null, and valid as long
  // as the memory, which has BytesOfList() for each, and the list itself exist.
  virtual Status Upload(const std::vector<Span<int32_t>>& lists, void* memory,
                        Stream* stream,
                        std::vector<const int32_t*>* on_device) const = 0;
  // The program must outlive the result.
  virtual std::unique_ptr<Executable> Compile(
      const CompiledProgram& program) const = 0;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_DEVICE_H_

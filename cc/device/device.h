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
// different chunks may run at the same time in different streams, if nothing is
// stored for one chunk only.
class BoundProgram {
 public:
  virtual ~BoundProgram() = default;

  // Once, before anything runs; weights must be there.
  virtual Status Prepare(Stream* stream) = 0;
  // Runs the nodes of a stage over some rows: the tasks of a chunk, or blocks
  // of it. May return before the work is done, which then reads the bindings.
  virtual Status Run(Stage stage, const RowRange& rows, Stream* stream) = 0;
  // When all stages over rows have run: sums of no rows become zero, those that
  // were formed in a wider type are rounded.
  virtual Status FinishSums(Stream* stream) = 0;
};

// A program as a device runs it. Immutable: any number of steps may share it.
class Executable {
 public:
  virtual ~Executable() = default;

  // Memory of the device that a step needs beside what its placement lists.
  virtual size_t WorkspaceBytes(const TypeRows& rows) const = 0;
  // How long a step of so many rows, in so many tasks, takes one worker,
  // roughly.
  virtual double Nanos(int64_t rows, int64_t tasks) const = 0;
  // `bindings` and the program must outlive the result. Slots may change
  // between chunks, where storage is that of a chunk, when all work that was
  // put into a stream is done.
  virtual std::unique_ptr<BoundProgram> Bind(Bindings* bindings) const = 0;
};

// Thread safety: any thread may call any method at any time.
class Device {
 public:
  virtual ~Device() = default;

  virtual Capabilities capabilities() const = 0;
  virtual std::shared_ptr<Memory> memory() const = 0;
  // Eager and lazy stages run over at most so many rows at a time, of so many
  // bytes each.
  virtual int64_t RowsPerBlock(int64_t bytes_per_row) const = 0;
  // Makes lists of row numbers readable on the device: on_device[i] is lists[i]
  // there, as long as the result and the list itself exist.
  virtual std::shared_ptr<void> Upload(
      const std::vector<Span<int32_t>>& lists,
      std::vector<const int32_t*>* on_device) const = 0;
  // The program must outlive the result.
  virtual std::unique_ptr<Executable> Compile(
      const CompiledProgram& program) const = 0;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_DEVICE_H_

// Devices that let another device do the work.
#ifndef CAVS_TESTS_CC_EXEC_WRAPPING_DEVICE_H_
#define CAVS_TESTS_CC_EXEC_WRAPPING_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cc/device/device.h"

namespace cavs {

// A device that is another device in all but the programs that it binds.
class WrappingDevice : public Device {
 public:
  explicit WrappingDevice(std::shared_ptr<const Device> inner)
      : inner_(std::move(inner)) {}

  Capabilities capabilities() const override { return inner_->capabilities(); }
  std::shared_ptr<Memory> memory() const override { return inner_->memory(); }
  double NanosPerProgram(int64_t weight_bytes) const override {
    return inner_->NanosPerProgram(weight_bytes);
  }
  int64_t RowsPerBlock(int64_t bytes_per_row) const override {
    return inner_->RowsPerBlock(bytes_per_row);
  }
  size_t BytesOfList(int64_t length) const override {
    return inner_->BytesOfList(length);
  }
  Status Upload(const std::vector<Span<int32_t>>& lists, void* memory,
                Stream* stream,
                std::vector<const int32_t*>* on_device) const override {
    return inner_->Upload(lists, memory, stream, on_device);
  }
  std::unique_ptr<Executable> Compile(
      const CompiledProgram& program) const override {
    return std::make_unique<Wrapped>(inner_->Compile(program), program, this);
  }

 protected:
  // Binds a program that the other device has compiled.
  virtual std::unique_ptr<BoundProgram> Bind(const Program& program,
                                             const Executable& inner,
                                             Bindings* bindings) const = 0;

 private:
  class Wrapped : public Executable {
   public:
    Wrapped(std::unique_ptr<Executable> inner, const Program& program,
            const WrappingDevice* device)
        : inner_(std::move(inner)), program_(program), device_(device) {}
    size_t WorkspaceBytes(const TypeRows& rows) const override {
      return inner_->WorkspaceBytes(rows);
    }
    Constants constants() const override { return inner_->constants(); }
    double Nanos(const TaskCount& tasks) const override {
      return inner_->Nanos(tasks);
    }
    std::unique_ptr<BoundProgram> Bind(Bindings* bindings) const override {
      return device_->Bind(program_, *inner_, bindings);
    }

   private:
    const std::unique_ptr<Executable> inner_;
    const Program& program_;
    const WrappingDevice* const device_;
  };

  const std::shared_ptr<const Device> inner_;
};

// A stream that decides when and how a stream of another device does the work.
class WrappingStream : public Stream {
 public:
  using Work = std::function<Status(Stream* inner)>;

  // Does some work of the device, now or later.
  virtual Status Do(Work work) = 0;

  Status Zero(void* to, size_t bytes) override {
    return Do([=](Stream* inner) { return inner->Zero(to, bytes); });
  }
  Status Copy(void* to, const void* from, size_t bytes) override {
    return Do([=](Stream* inner) { return inner->Copy(to, from, bytes); });
  }
  Status Add(DType dtype, const void* terms, int64_t n, void* sums) override {
    return Do([=](Stream* inner) { return inner->Add(dtype, terms, n, sums); });
  }
  Status ClearUnlessFinite(DType dtype, const void* numbers, int64_t n,
                           bool* finite) override {
    return Do([=](Stream* inner) {
      return inner->ClearUnlessFinite(dtype, numbers, n, finite);
    });
  }
};

// Runs a program of another device in a WrappingStream.
class ProgramInWrappingStream : public BoundProgram {
 public:
  explicit ProgramInWrappingStream(std::unique_ptr<BoundProgram> inner)
      : inner_(std::move(inner)) {}

  Status Prepare(Stream* stream) override {
    return Do(stream, [this](Stream* own) { return inner_->Prepare(own); });
  }
  Status Run(Stage stage, const RowRange& rows, Stream* stream) override {
    return Do(stream,
              [=](Stream* own) { return inner_->Run(stage, rows, own); });
  }
  Status FinishSums(Stream* stream) override {
    return Do(stream, [this](Stream* own) { return inner_->FinishSums(own); });
  }

 private:
  static Status Do(Stream* stream, WrappingStream::Work work) {
    return static_cast<WrappingStream*>(stream)->Do(std::move(work));
  }

  const std::unique_ptr<BoundProgram> inner_;
};

}  // namespace cavs

#endif  // CAVS_TESTS_CC_EXEC_WRAPPING_DEVICE_H_

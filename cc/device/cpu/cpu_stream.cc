#include "cc/device/cpu/cpu_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cc/base/dtype.h"
#include "cc/base/no_throw.h"

namespace cavs {
namespace {

// A variable of the engine that is mutated when the stream reaches the event.
class EngineEvent : public Event {
 public:
  explicit EngineEvent(engine::Engine* engine)
      : engine_(engine), variable_(engine->NewVariable("event")) {}
  ~EngineEvent() override {
    (void)NoThrow([&] {
      engine_->DeleteVariable(variable_);
      return Status();
    });
  }
  EngineEvent(const EngineEvent&) = delete;

  engine::Variable variable() const { return variable_; }

 private:
  engine::Engine* const engine_;
  const engine::Variable variable_;
};

}  // namespace

InlineStream::InlineStream(Workers* workers, CpuCosts costs)
    : costs_(costs),
      workers_(workers),
      shared_(workers),
      unshared_(&alone_),
      backend_(&shared_),
      serial_(&unshared_) {}

InlineStream::InlineStream(const CpuBackend* kernels) : InlineStream(&alone_) {
  backend_ = serial_ = kernels;
}

void InlineStream::Expect(double nanos) {
  if (workers_->count() == 1) return;
  if (nanos > costs_.nanos_to_call) return workers_->Prepare();
  workers_ = &alone_;
  backend_ = serial_;
}

Status InlineStream::Call(std::function<Status()> work) { return work(); }

Status InlineStream::Zero(void* to, size_t bytes) {
  if (bytes > 0) std::memset(to, 0, bytes);
  return Status();
}

Status InlineStream::Copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
  return Status();
}

Status InlineStream::Add(DType dtype, const void* terms, int64_t n,
                         void* sums) {
  if (!IsNative(dtype)) {
    return Status(StatusCode::kUnimplemented,
                  "sums of this type cannot be added up");
  }
  backend().SumRows(dtype, {terms, 1, n, n}, {sums, 1, n, n},
                    /*accumulate=*/true);
  return Status();
}

Status InlineStream::ClearUnlessFinite(DType dtype, const void* numbers,
                                       int64_t n, bool* finite) {
  // As rows, which workers share.
  constexpr int64_t kColumns = 4096;
  const int64_t rows = n / kColumns, rest = n % kColumns;
  const char* end = static_cast<const char*>(numbers) +
                    rows * kColumns * static_cast<int64_t>(SizeOf(dtype));
  *finite = *finite &&
            backend().IsFinite(dtype, {numbers, rows, kColumns, kColumns}) &&
            backend().IsFinite(dtype, {end, 1, rest, rest});
  return Status();
}

void EngineStream::Outcome::Set(Status status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!status_.ok()) return;
  status_ = std::move(status);
  failed_.store(true, std::memory_order_relaxed);
}

Status EngineStream::Outcome::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  Status status = std::move(status_);
  status_ = Status();
  failed_.store(false, std::memory_order_relaxed);
  return status;
}

EngineStream::EngineStream(engine::Engine* engine, int number, Outcome* outcome,
                           Workers* workers, CpuCosts costs)
    : now_(workers, costs),
      engine_(engine),
      number_(number),
      outcome_(outcome),
      order_(engine->NewVariable("stream")) {}

EngineStream::~EngineStream() {
  (void)NoThrow([&] { return Synchronize(); });
  (void)NoThrow([&] {
    engine_->DeleteVariable(order_);
    return Status();
  });
}

Status EngineStream::Call(std::function<Status()> work) {
  queue_.push_back({nullptr, Stage::kCritical, RowRange(), std::move(work)});
  return Status();
}

Status EngineStream::Zero(void* to, size_t bytes) {
  return Call([=] { return now_.Zero(to, bytes); });
}

Status EngineStream::Copy(void* to, const void* from, size_t bytes) {
  return Call([=] { return now_.Copy(to, from, bytes); });
}

Status EngineStream::Add(DType dtype, const void* terms, int64_t n,
                         void* sums) {
  return Call([=] { return now_.Add(dtype, terms, n, sums); });
}

Status EngineStream::ClearUnlessFinite(DType dtype, const void* numbers,
                                       int64_t n, bool* finite) {
  return Call(
      [=] { return now_.ClearUnlessFinite(dtype, numbers, n, finite); });
}

Status EngineStream::Run(CpuTask* task, Stage stage, const RowRange& rows) {
  queue_.push_back({task, stage, rows, nullptr});
  return Status();
}

std::shared_ptr<Event> EngineStream::Record() {
  auto event = std::make_shared<EngineEvent>(engine_);
  Flush({event->variable()});
  return event;
}

Status EngineStream::Wait(std::shared_ptr<Event> event) {
  if (!queue_.empty()) Flush({});
  awaited_.push_back(std::move(event));
  return Status();
}

Status EngineStream::Do(const Work& work) {
  return NoThrow([&] {
    return work.task != nullptr
               ? work.task->RunNow(work.stage, work.rows, &now_)
               : work.call();
  });
}

void EngineStream::Flush(std::vector<engine::Variable> mutated) {
  std::vector<engine::Variable> read;
  for (const auto& event : awaited_) {
    read.push_back(static_cast<const EngineEvent&>(*event).variable());
  }
  mutated.push_back(order_);
  auto run = [this, queue = std::move(queue_)] {
    for (const Work& work : queue) {
      if (!outcome_->ok()) return;
      Status status = Do(work);
      if (!status.ok()) outcome_->Set(std::move(status));
    }
  };
  queue_.clear();
  engine_->Push(std::move(run), read, mutated, {0, number_, "stream"});
  awaited_.clear();
}

Status EngineStream::Synchronize() {
  if (!queue_.empty() || !awaited_.empty()) Flush({});
  engine_->WaitFor(order_);
  return outcome_->Take();
}

TwoCpuStreams::TwoCpuStreams(engine::Engine* engine, Workers* workers,
                             CpuCosts costs)
    : critical_(engine, 0, &outcome_, workers->count() <= 2 ? &alone_ : workers,
                costs),
      other_(engine, 1, &outcome_, workers->count() <= 2 ? &alone_ : workers,
             costs) {}

}  // namespace cavs

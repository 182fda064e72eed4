// Errors of operations, and errors in the use of the engine.
#ifndef CAVS_CC_ENGINE_ERRORS_H_
#define CAVS_CC_ENGINE_ERRORS_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cavs::engine {

// A mistake of the caller, thrown by the call that makes it, which then changes
// nothing. The message says which value was given, which was expected, and what
// to do.
class EngineError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// An exception that left an operation, as a wait raises it.
class OperationError : public std::runtime_error {
 public:
  OperationError(std::string name, std::string file, int line,
                 std::exception_ptr cause);

  const std::string& name() const { return name_; }
  // Where the operation was pushed.
  const std::string& file() const { return file_; }
  int line() const { return line_; }
  // The exception that left the operation, for std::rethrow_exception.
  const std::exception_ptr& cause() const { return cause_; }

 private:
  std::string name_, file_;
  int line_;
  std::exception_ptr cause_;
};

// All the errors that a wait observed, in push order.
class OperationErrors : public std::runtime_error {
 public:
  explicit OperationErrors(std::vector<OperationError> errors);

  const std::vector<OperationError>& errors() const { return errors_; }

 private:
  std::vector<OperationError> errors_;
};

// The text of an exception; never throws it.
std::string Describe(const std::exception_ptr& cause);

// One failed operation, shared by the variables that its failure has reached.
struct Failure {
  OperationError error;
  uint64_t sequence;  // Sequence number of the operation that failed.
  // Once a wait has raised the failure, operations with this sequence number or
  // a later one run in spite of it: their pusher could know.
  uint64_t raised_at = 0;

  bool raised() const { return raised_at != 0; }
  bool Stops(uint64_t operation) const {
    return !raised() || operation < raised_at;
  }
};

// The failures that keep a variable from having a value, in push order. Shared
// and never changed; null stands for none, the usual case.
using FailureSet = std::vector<std::shared_ptr<Failure>>;
using FailureSetPtr = std::shared_ptr<const FailureSet>;

// The failures in `a` or in `b`. Returns one of the two if it contains the
// other.
FailureSetPtr Union(const FailureSetPtr& a, const FailureSetPtr& b);

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_ERRORS_H_

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

// An EngineError reports a mistake of the caller. The call that makes the
// mistake throws it, and changes nothing. The message says which value was
// given, which was expected, and what to do.
class EngineError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// A wait throws an OperationError if an exception left an operation.
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

// OperationErrors holds all errors that a wait observed, in push order.
class OperationErrors : public std::runtime_error {
 public:
  explicit OperationErrors(std::vector<OperationError> errors);

  const std::vector<OperationError>& errors() const { return errors_; }

 private:
  std::vector<OperationError> errors_;
};

// Returns the text of an exception, and does not throw the exception.
std::string Describe(const std::exception_ptr& cause);

// One failed operation, shared by the variables that its failure has reached.
struct Failure {
  OperationError error;
  uint64_t sequence;  // Sequence number of the operation that failed.
  // The sequence number that was next when a wait raised the failure, or 0
  // before. Operations from this number on run in spite of the failure, because
  // the thread that pushed them could know of it.
  uint64_t raised_at = 0;

  bool raised() const { return raised_at != 0; }
  bool Stops(uint64_t operation) const {
    return !raised() || operation < raised_at;
  }
};

// The failures because of which a variable has no value, in push order.
// Variables and operations share a set, which never changes. A null pointer
// stands for no failures, which is the usual case.
using FailureSet = std::vector<std::shared_ptr<Failure>>;
using FailureSetPtr = std::shared_ptr<const FailureSet>;

// Returns the failures that are in `a` or in `b`. If one of the two contains
// the other, returns that one itself.
FailureSetPtr Union(const FailureSetPtr& a, const FailureSetPtr& b);

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_ERRORS_H_

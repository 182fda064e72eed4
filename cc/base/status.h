// The result type of all code that does not depend on TensorFlow.
#ifndef CAVS_CC_BASE_STATUS_H_
#define CAVS_CC_BASE_STATUS_H_

#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>

namespace cavs {

enum class StatusCode {
  kOk,
  kInvalidArgument,    // The caller's data is wrong; the message says where.
  kResourceExhausted,  // Not enough memory.
  kCancelled,
  kUnimplemented,
  kInternal,  // A bug in this library.
};

// Success, or a code with a message of the form
// `<input[index]>: got <value> but expected <constraint>. <What to do.>`
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// The name of an argument in a message: "at", or "pulls[2]", one of a list.
// Making its text takes half a microsecond, which is for messages only.
class ArgumentName {
 public:
  // `name` must outlive the object.
  ArgumentName(const char* name) : name_(name) {}  // NOLINT: a name as it is.
  ArgumentName(const char* list, int64_t index) : name_(list), index_(index) {}

  friend std::ostream& operator<<(std::ostream& out, const ArgumentName& own) {
    out << own.name_;
    return own.index_ < 0 ? out : out << "[" << own.index_ << "]";
  }

 private:
  const char* name_;
  int64_t index_ = -1;  // Not one of a list.
};

// StrCat("children[", 3, "]") == "children[3]".
template <typename... Args>
std::string StrCat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

template <typename... Args>
Status InvalidArgument(const Args&... args) {
  return Status(StatusCode::kInvalidArgument, StrCat(args...));
}

// For an allocation that failed.
inline Status OutOfMemory() {
  return Status(StatusCode::kResourceExhausted,
                "memory: got less from the system than was asked for but "
                "expected all of it. Use a smaller minibatch, or give the "
                "process more memory.");
}

template <typename... Args>
Status Internal(const Args&... args) {
  return Status(StatusCode::kInternal, StrCat(args...));
}

}  // namespace cavs

#define CAVS_RETURN_IF_ERROR(expression)         \
  do {                                           \
    ::cavs::Status cavs_status_ = (expression);  \
    if (!cavs_status_.ok()) return cavs_status_; \
  } while (false)

#endif  // CAVS_CC_BASE_STATUS_H_

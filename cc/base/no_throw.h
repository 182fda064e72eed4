// Turns exceptions into a Status.
#ifndef CAVS_CC_BASE_NO_THROW_H_
#define CAVS_CC_BASE_NO_THROW_H_

#include <exception>
#include <new>
#include <stdexcept>

#include "cc/base/status.h"

namespace cavs {

// The exception that is being handled, as a Status. std::bad_alloc and
// std::length_error (a container beyond its largest size) mean that there is
// not enough memory; any other exception is a bug in this library.
inline Status CurrentException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::length_error&) {
    return OutOfMemory();
  } catch (const std::exception& exception) {
    return Internal("got exception \"", exception.what(),
                    "\" but expected none.");
  } catch (...) {
    return Internal("got an exception that has no name but expected none.");
  }
}

// Returns the result of `compute()`, or the exception that it throws as a
// Status. Never throws: if there is no memory for a message, the message is
// empty.
template <typename Compute>
Status NoThrow(const Compute& compute) noexcept {
  try {
    try {
      return compute();
    } catch (...) {
      return CurrentException();
    }
  } catch (...) {
    return Status(StatusCode::kResourceExhausted, {});
  }
}

}  // namespace cavs

#endif  // CAVS_CC_BASE_NO_THROW_H_

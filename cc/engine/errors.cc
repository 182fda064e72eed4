#include "cc/engine/errors.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cavs::engine {
namespace {

bool PushedBefore(const std::shared_ptr<Failure>& a,
                  const std::shared_ptr<Failure>& b) {
  return a->sequence < b->sequence;
}

std::string Message(const std::string& name, const std::string& file, int line,
                    const std::exception_ptr& cause) {
  return "operation '" + name + "' (pushed at " + file + ":" +
         std::to_string(line) + ") failed: " + Describe(cause);
}

std::string Summary(const std::vector<OperationError>& errors) {
  std::string text = std::to_string(errors.size()) +
                     (errors.size() == 1 ? " operation" : " operations") +
                     " failed";
  for (const OperationError& error : errors) {
    text += std::string("\n  ") + error.what();
  }
  return text;
}

}  // namespace

std::string Describe(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

OperationError::OperationError(std::string name, std::string file, int line,
                               std::exception_ptr cause)
    : std::runtime_error(Message(name, file, line, cause)),
      name_(std::move(name)),
      file_(std::move(file)),
      line_(line),
      cause_(std::move(cause)) {}

OperationErrors::OperationErrors(std::vector<OperationError> errors)
    : std::runtime_error(Summary(errors)), errors_(std::move(errors)) {}

FailureSetPtr Union(const FailureSetPtr& a, const FailureSetPtr& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  const auto holds = [](const FailureSet& all, const FailureSet& some) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end(),
                         PushedBefore);
  };
  if (holds(*a, *b)) return a;
  if (holds(*b, *a)) return b;
  auto both = std::make_shared<FailureSet>();
  std::set_union(a->begin(), a->end(), b->begin(), b->end(),
                 std::back_inserter(*both), PushedBefore);
  return both;
}

}  // namespace cavs::engine

#include "cc/python/python_calls.h"

#include <optional>
#include <utility>

#include "cc/python/python_lock.h"

namespace py = pybind11;

namespace cavs::engine {
namespace {

// Stands for a Python exception that a PythonObjects keeps.
class PythonError : public std::exception {
 public:
  PythonError(uint64_t key, std::string text)
      : key_(key), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  uint64_t key() const { return key_; }

 private:
  uint64_t key_;
  std::string text_;
};

// "ZeroDivisionError: division by zero"
std::string TextOf(const py::object& error) {
  const std::string type = py::str(py::type::of(error).attr("__name__"));
  PyObject* str = PyObject_Str(error.ptr());
  if (str == nullptr) {
    PyErr_Clear();
    return type;
  }
  const std::string text = py::reinterpret_steal<py::str>(str);
  return text.empty() ? type : type + ": " + text;
}

// Runs `f` with Python's lock. Its local variables have no destructors: the
// thread may stay inside of `f`, see python_lock.h.
template <typename F>
void WithPython(F f) {
  const PythonLock lock;
  OrStay(f);
}

// The completion that Python code gets.
struct PythonCompletion {
  Completion done;
  std::shared_ptr<PythonObjects> objects;
};

}  // namespace

PythonObjects::~PythonObjects() {
  // The last owner may be a thread without Python's lock, or be destroyed after
  // Python.
  if (!Py_IsInitialized()) {
    for (auto& [key, error] : errors_) error.release();
    return;
  }
  const PythonLock lock;
  Collect();
  errors_.clear();
}

void PythonObjects::Drop(Link* link) {
  // Relaxed: only the exchange below must see the newest value.
  link->next = dropped_.load(std::memory_order_relaxed);
  // Release: the thread that collects sees `next`. Relaxed on failure: the loop
  // tries again.
  while (!dropped_.compare_exchange_weak(
      link->next, link, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void PythonObjects::Collect() {
  // Relaxed: objects that are dropped at the same time are collected next time.
  if (dropped_.load(std::memory_order_relaxed) == nullptr) return;
  // Acquire: pairs with the release in Drop().
  Link* link = dropped_.exchange(nullptr, std::memory_order_acquire);
  while (link != nullptr) {
    Link* next = link->next;
    Py_DECREF(link->object);
    delete link;
    link = next;
  }
}

std::exception_ptr PythonObjects::KeepError() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  auto error = py::reinterpret_steal<py::object>(value);
  std::string text = TextOf(error);
  errors_.emplace(++next_error_, std::move(error));
  return std::make_exception_ptr(PythonError(next_error_, std::move(text)));
}

py::object PythonObjects::TakeError(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const PythonError& error) {
    const auto found = errors_.find(error.key());
    if (found == errors_.end()) return py::none();
    py::object exception = std::move(found->second);
    errors_.erase(found);
    return exception;
  } catch (...) {
    return py::none();
  }
}

void PythonReference::Release() {
  PythonObjects::Link* link = std::exchange(link_, nullptr);
  Py_DECREF(link->object);
  delete link;
}

void PythonCall::operator()() {
  std::exception_ptr error;
  WithPython([&] {
    PyObject* result = PyObject_CallNoArgs(fn_.get().ptr());
    if (result == nullptr) error = fn_.objects().KeepError();
    Py_XDECREF(result);
    fn_.Release();
  });
  if (error) std::rethrow_exception(error);
}

void PythonCall::operator()(Completion done) {
  std::exception_ptr error;
  WithPython([&] {
    PyObject* argument =
        py::cast(std::make_unique<PythonCompletion>(
                     PythonCompletion{std::move(done), fn_.shared_objects()}))
            .release()
            .ptr();
    PyObject* result = PyObject_CallOneArg(fn_.get().ptr(), argument);
    if (result == nullptr) error = fn_.objects().KeepError();
    Py_DECREF(argument);
    Py_XDECREF(result);
    fn_.Release();
  });
  if (error) std::rethrow_exception(error);
}

void NativeCall::operator()() {
  // With the naive policy this is the pushing thread, which holds Python's
  // lock.
  std::optional<PythonUnlock> unlock;
  if (PyGILState_Check()) unlock.emplace();
  function_(argument_);
}

void DefineCompletion(py::module_* module) {
  py::class_<PythonCompletion>(*module, "Completion",
                               "Call it once when an asynchronous operation is "
                               "done; fail(error) if it is not.")
      .def("__call__", [](PythonCompletion& self) { self.done(); })
      .def("fail", [](PythonCompletion& self, const py::object& error) {
        PyErr_SetObject(py::type::of(error).ptr(), error.ptr());
        self.done.Fail(self.objects->KeepError());
      });
}

}  // namespace cavs::engine

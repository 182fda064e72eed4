// Operations that call Python callables or functions of libraries.
#ifndef CAVS_CC_PYTHON_PYTHON_CALLS_H_
#define CAVS_CC_PYTHON_PYTHON_CALLS_H_

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cc/engine/completion.h"

namespace cavs::engine {

// Python's state of one engine: above all, the references to objects that its
// operations hold. Operations share its ownership, since one may drop
// the last reference to its engine. Threads without Python's lock may drop a
// reference: it is kept until a thread with the lock collects it. There is no
// other lock, since fork() might find it held.
class PythonObjects {
 public:
  // A list entry: a reference to drop.
  struct Link {
    PyObject* object;
    Link* next;
  };

  PythonObjects() = default;
  ~PythonObjects();

  void Drop(Link* link);

  // The following methods REQUIRE Python's lock.
  //
  // Returns the same text at an address that stays valid, for the sites of
  // pushes. Files are few.
  const char* Interned(const std::string& file) {
    return files_.insert(file).first->c_str();
  }
  void Collect();
  // Keeps the exception that is set, and returns an exception that stands for
  // it in the engine and may be copied and destroyed without Python's lock.
  std::exception_ptr KeepError();
  // Returns the exception that `cause` stands for, and no longer keeps it; None
  // if `cause` is not from Python.
  pybind11::object TakeError(const std::exception_ptr& cause);

 private:
  std::atomic<Link*> dropped_{nullptr};
  std::unordered_map<uint64_t, pybind11::object>
      errors_;                             // GUARDED_BY(the GIL)
  uint64_t next_error_ = 0;                // GUARDED_BY(the GIL)
  std::unordered_set<std::string> files_;  // GUARDED_BY(the GIL)
};

// Owns one reference, and drops it from any thread.
class PythonReference {
 public:
  PythonReference(std::shared_ptr<PythonObjects> objects,
                  pybind11::object object)
      : objects_(std::move(objects)),
        link_(new PythonObjects::Link{object.release().ptr(), nullptr}) {}
  PythonReference(PythonReference&& other) noexcept
      : objects_(std::move(other.objects_)),
        link_(std::exchange(other.link_, nullptr)) {}
  PythonReference& operator=(PythonReference&&) = delete;
  ~PythonReference() {
    if (link_ != nullptr) objects_->Drop(link_);
  }

  PythonObjects& objects() { return *objects_; }
  const std::shared_ptr<PythonObjects>& shared_objects() { return objects_; }
  pybind11::handle get() const { return link_->object; }
  // REQUIRES: Python's lock.
  void Release();

 private:
  std::shared_ptr<PythonObjects> objects_;
  PythonObjects::Link* link_;
};

// Calls a Python callable, with Python's lock only while it runs.
class PythonCall {
 public:
  PythonCall(std::shared_ptr<PythonObjects> objects, pybind11::object fn)
      : fn_(std::move(objects), std::move(fn)) {}

  void operator()();
  void operator()(Completion done);

 private:
  PythonReference fn_;
};

// Calls `void function(void* argument)` without Python's lock. Holds a
// reference to `keep` meanwhile.
class NativeCall {
 public:
  NativeCall(std::shared_ptr<PythonObjects> objects, uintptr_t function,
             uintptr_t argument, pybind11::object keep)
      : keep_(std::move(objects), std::move(keep)),
        function_(reinterpret_cast<void (*)(void*)>(function)),
        argument_(reinterpret_cast<void*>(argument)) {}

  void operator()();

 private:
  PythonReference keep_;
  void (*function_)(void*);
  void* argument_;
};

// Defines the Python class Completion.
void DefineCompletion(pybind11::module_* module);

}  // namespace cavs::engine

#endif  // CAVS_CC_PYTHON_PYTHON_CALLS_H_

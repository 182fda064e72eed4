// Python's lock, in threads that may still run while Python ends.
//
// Python before 3.14 ends a thread that asks for its lock while the interpreter
// is ending: it unwinds the stack. Destructors of Python objects may not run
// without the lock, and an unwinding that leaves a destructor ends the process.
// So the thread blocks until the process ends, as it does from 3.14 on.
#ifndef CAVS_CC_PYTHON_PYTHON_LOCK_H_
#define CAVS_CC_PYTHON_PYTHON_LOCK_H_

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace cavs::engine {

// Calls `f`; blocks for ever if Python ends the thread meanwhile.
template <typename F>
void OrStay(F f) {
  try {
    f();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

// Holds Python's lock while it exists.
class PythonLock {
 public:
  PythonLock() {
    OrStay([this] { state_ = PyGILState_Ensure(); });
  }
  PythonLock(const PythonLock&) = delete;
  PythonLock& operator=(const PythonLock&) = delete;
  ~PythonLock() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// Gives Python's lock, which the thread holds, to others while it exists.
class PythonUnlock {
 public:
  PythonUnlock() : state_(PyEval_SaveThread()) {}
  PythonUnlock(const PythonUnlock&) = delete;
  PythonUnlock& operator=(const PythonUnlock&) = delete;
  ~PythonUnlock() {
    OrStay([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* const state_;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_PYTHON_PYTHON_LOCK_H_

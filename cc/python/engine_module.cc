// The extension module cavs_tf._cavs_engine: the dependency engine for
// cavs_tf/engine/_engine.py, which is its interface. Does not depend on
// TensorFlow.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cc/engine/engine.h"
#include "cc/python/python_calls.h"
#include "cc/python/python_lock.h"

namespace py = pybind11;

namespace cavs::engine {
namespace {

// A variable with the name that Python gave it.
struct NamedVariable {
  Variable variable;
  std::string name;
};

// Lets Python run while this thread waits, and handles Ctrl-C.
void CheckSignals() {
  const PythonLock lock;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

std::vector<Variable> Variables(const char* list, const py::iterable& items) {
  std::vector<Variable> variables;
  for (const py::handle item : items) {
    if (!py::isinstance<NamedVariable>(item)) {
      throw EngineError(std::string(list) + "[" +
                        std::to_string(variables.size()) + "]: got " +
                        std::string(py::str(py::repr(item))) +
                        " but expected a variable. Make one with "
                        "engine.new_variable().");
    }
    variables.push_back(item.cast<const NamedVariable&>().variable);
  }
  return variables;
}

// An engine whose waits return lists of errors, from which engine.py makes
// exceptions.
//
// The engine's lock is never held by a thread that needs Python's lock, so
// calls that do not wait may keep Python's lock.
class PythonEngine {
 public:
  PythonEngine(const std::string& policy, int workers)
      : objects_(std::make_shared<PythonObjects>()),
        engine_(Factory(policy, workers)) {}

  ~PythonEngine() {
    const PythonUnlock unlock;
    engine_.Close();
  }

  NamedVariable NewVariable(const std::string& name) {
    return {engine_.NewVariable(name), name};
  }

  void Push(py::object fn, const py::iterable& read, const py::iterable& mutate,
            int priority, int stream, std::string_view name,
            const std::string& file, int line) {
    objects().Collect();
    const std::vector<Variable> reads = Variables("read", read);
    const std::vector<Variable> mutates = Variables("mutate", mutate);
    engine_.Push(PythonCall(objects_, std::move(fn)), reads, mutates,
                 {priority, stream, name}, objects().Interned(file), line);
  }

  void PushAsync(py::object fn, const py::iterable& read,
                 const py::iterable& mutate, int priority, int stream,
                 std::string_view name, const std::string& file, int line) {
    objects().Collect();
    const std::vector<Variable> reads = Variables("read", read);
    const std::vector<Variable> mutates = Variables("mutate", mutate);
    engine_.PushAsync(PythonCall(objects_, std::move(fn)), reads, mutates,
                      {priority, stream, name}, objects().Interned(file), line);
  }

  void PushNative(uintptr_t function, uintptr_t argument, py::object keep,
                  const py::iterable& read, const py::iterable& mutate,
                  int priority, int stream, std::string_view name,
                  const std::string& file, int line) {
    objects().Collect();
    const std::vector<Variable> reads = Variables("read", read);
    const std::vector<Variable> mutates = Variables("mutate", mutate);
    engine_.Push(NativeCall(objects_, function, argument, std::move(keep)),
                 reads, mutates, {priority, stream, name},
                 objects().Interned(file), line);
  }

  py::list WaitFor(const NamedVariable& variable) {
    return Wait([&] { engine_.WaitFor(variable.variable, CheckSignals); });
  }

  py::list WaitAll() {
    return Wait([&] { engine_.WaitAll(CheckSignals); });
  }

  py::list Close() {
    std::vector<OperationError> errors;
    {
      const PythonUnlock unlock;
      errors = engine_.Close(CheckSignals);
    }
    objects().Collect();
    return ToPython(errors);
  }

  void Delete(const NamedVariable& variable) {
    engine_.DeleteVariable(variable.variable);
  }
  uint64_t Version(const NamedVariable& variable) {
    return engine_.Version(variable.variable);
  }
  std::string Dump() { return engine_.Dump(); }
  std::string PolicyName() { return engine_.PolicyName(); }
  void StartTrace() { engine_.StartTrace(); }
  std::vector<TraceEvent> StopTrace() { return engine_.StopTrace(); }

 private:
  static PolicyFactory Factory(const std::string& policy, int workers) {
    if (policy == "naive") return Naive();
    return policy == "streams" ? Streams(workers) : Threaded(workers);
  }

  PythonObjects& objects() { return *objects_; }

  template <typename F>
  py::list Wait(F wait) {
    std::vector<OperationError> errors;
    {
      const PythonUnlock unlock;
      try {
        wait();
      } catch (const OperationError& error) {
        errors = {error};
      } catch (const OperationErrors& all) {
        errors = all.errors();
      }
    }
    objects().Collect();
    return ToPython(errors);
  }

  // A list of (name, file, line, message, exception or None).
  py::list ToPython(const std::vector<OperationError>& errors) {
    py::list list;
    for (const OperationError& error : errors) {
      list.append(py::make_tuple(error.name(), error.file(), error.line(),
                                 error.what(),
                                 objects().TakeError(error.cause())));
    }
    return list;
  }

  std::shared_ptr<PythonObjects> objects_;
  Engine engine_;
};

void DefineTrace(py::module_* module) {
  py::class_<TraceEvent>(*module, "TraceEvent")
      .def_readonly("name", &TraceEvent::name)
      .def_readonly("file", &TraceEvent::file)
      .def_readonly("line", &TraceEvent::line)
      .def_readonly("sequence", &TraceEvent::sequence)
      .def_readonly("worker", &TraceEvent::worker)
      .def_readonly("worker_name", &TraceEvent::worker_name)
      .def_property_readonly(
          "pushed", [](const TraceEvent& e) { return e.pushed_ns * 1e-9; })
      .def_property_readonly(
          "began", [](const TraceEvent& e) { return e.began_ns * 1e-9; })
      .def_property_readonly(
          "ended", [](const TraceEvent& e) { return e.ended_ns * 1e-9; })
      .def_property_readonly(
          "outcome", [](const TraceEvent& e) { return ToString(e.outcome); })
      .def("__repr__", [](const TraceEvent& e) {
        return "<TraceEvent '" + e.name + "' on " + e.worker_name + ">";
      });
  module->def("chrome_trace", &ChromeTrace);
}

void DefineVariable(py::module_* module) {
  py::class_<NamedVariable>(
      *module, "Variable",
      "A tag that operations of one engine read or mutate.")
      .def_readonly("name", &NamedVariable::name)
      .def("__repr__",
           [](const NamedVariable& self) {
             const std::string id = "v" + std::to_string(self.variable.index);
             return "<Variable " +
                    (self.name.empty() ? id
                                       : "'" + self.name + "' (" + id + ")") +
                    ">";
           })
      .def("__eq__",
           [](const NamedVariable& a, const py::object& b) {
             return py::isinstance<NamedVariable>(b) &&
                    a.variable == b.cast<const NamedVariable&>().variable;
           })
      .def("__hash__", [](const NamedVariable& self) {
        return py::hash(py::make_tuple(self.variable.engine,
                                       self.variable.index,
                                       self.variable.generation));
      });
}

}  // namespace
}  // namespace cavs::engine

PYBIND11_MODULE(_cavs_engine, module) {
  using namespace cavs::engine;  // NOLINT: this is a function.
  py::register_exception<EngineError>(module, "EngineError", PyExc_ValueError)
      .attr("__doc__") =
      "A mistake in using an engine, raised by the call that makes it.";
  DefineVariable(&module);
  DefineTrace(&module);
  DefineCompletion(&module);
  py::class_<PythonEngine>(module, "Engine")
      .def(py::init<const std::string&, int>())
      .def("new_variable", &PythonEngine::NewVariable)
      .def("push", &PythonEngine::Push)
      .def("push_async", &PythonEngine::PushAsync)
      .def("push_native", &PythonEngine::PushNative)
      .def("wait_for", &PythonEngine::WaitFor)
      .def("wait_all", &PythonEngine::WaitAll)
      .def("delete", &PythonEngine::Delete)
      .def("version", &PythonEngine::Version)
      .def("dump", &PythonEngine::Dump)
      .def("policy_name", &PythonEngine::PolicyName)
      .def("start_trace", &PythonEngine::StartTrace)
      .def("stop_trace", &PythonEngine::StopTrace)
      .def("close", &PythonEngine::Close);
}

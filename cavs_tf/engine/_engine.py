"""The engine: operations, variables, and functions of libraries as operations."""

import atexit
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterable

from cavs_tf._native.engine_library import library
from cavs_tf.engine._errors import EngineError, OperationErrors, as_exception, print_errors
from cavs_tf.engine._trace import Trace

_POLICIES = ("threaded", "naive", "streams")


class Native:
    """A function of a library, to be pushed like a Python callable.

    It runs without Python's lock, and so in parallel with Python code.

    Args:
      function: A `ctypes` function `void function(void *argument)`. Its result is ignored.
      argument: The argument of the call: a `ctypes` pointer, or an address. It is kept until the
        function has run.

    >>> import ctypes
    >>> from cavs_tf.engine import Engine, Native
    >>> value = ctypes.c_int(5)
    >>> libc = ctypes.CDLL(None)
    >>> with Engine(workers=1) as engine:
    ...     x = engine.new_variable("x")
    ...     engine.push(Native(libc.srand, 7), mutate=[x])
    """

    def __init__(self, function, argument=None):
        import ctypes

        if not isinstance(function, ctypes._CFuncPtr):
            raise EngineError(
                f"function: got {function!r} but expected a function of a ctypes library. "
                "Push a Python callable as it is."
            )
        self.address = ctypes.cast(function, ctypes.c_void_p).value
        if argument is None or isinstance(argument, int):
            self.argument = argument or 0
        else:
            self.argument = ctypes.cast(argument, ctypes.c_void_p).value or 0
        self.keep = (function, argument)
        self.__name__ = getattr(function, "__name__", "native")


class Engine:
    """Runs operations as soon as the variables that they name are free.

    Any thread may call every method. Operations may push and delete, but not wait. After `fork()`
    the child has a fresh engine without variables or pending operations.

    An exception in an operation marks the variables that it mutates as failed. Operations that
    name a failed variable are skipped, and pass the failure on to the variables that they mutate.
    Each error is raised once, by the first wait that observes it; operations pushed after that run
    again.

    As a context manager it waits for everything at the end. At the end of the program all that can
    still run does, unless Ctrl-C interrupts it.

    Args:
      policy: Where operations run. "threaded": on any of `workers` threads, by priority.
        "streams": `workers` threads, each of which runs its own operations in push order, like a
        stream of a GPU. "naive": one by one in `push`, to debug with; the
        environment variable CAVS_ENGINE=naive (or another policy) overrides the argument.
      workers: Number of threads, or of streams. Default: one thread per processor, or two streams.

    >>> from cavs_tf.engine import Engine
    >>> with Engine(policy="naive") as engine:
    ...     x = engine.new_variable("x")
    ...     engine.push(lambda: print("first"), mutate=[x])
    ...     engine.push(lambda: print("second"), read=[x])
    first
    second
    """

    def __init__(self, policy: str = "threaded", workers: int | None = None):
        source, policy = _choose_policy(policy)
        if workers is None:
            workers = 2 if policy == "streams" else len(os.sched_getaffinity(0))
        if not isinstance(workers, int) or not 1 <= workers <= 1024:
            raise EngineError(
                f"workers: got {workers!r} but expected an integer in [1, 1024]. "
                'Use policy="naive" to run operations in the pushing thread.'
            )
        if policy not in _POLICIES:
            raise EngineError(
                f"{source}: got {policy!r} but expected one of {', '.join(_POLICIES)}. "
                "Choose where operations run."
            )
        self._engine = library.Engine(policy, workers)
        self._at_exit = _close_at_exit(weakref.ref(self))

    @property
    def policy(self) -> str:
        """The policy in use, "threaded(2)" for example."""
        return self._engine.policy_name()

    def new_variable(self, name: str | None = None):
        """Returns a new tag. `name` is for errors, traces and `dump`."""
        return self._engine.new_variable(name or "")

    def push(
        self,
        fn: Callable[[], object],
        read: Iterable = (),
        mutate: Iterable = (),
        priority: int = 0,
        name: str | None = None,
        *,
        stream: int = 0,
    ) -> None:
        """Pushes `fn()`, which runs when all conflicting operations pushed before are done.

        Args:
          fn: Any callable, or a `Native`. Its result is ignored. It is dropped once it has run.
          read: Variables whose values it only reads.
          mutate: Variables whose values it changes. A variable that is named twice, or in both
            lists, is mutated once.
          priority: Operations that are ready run by descending priority, but none waits for ever.
            Streams ignore it.
          name: A name for errors, traces and `dump`. Default: the name of `fn`.
          stream: The stream that runs it; other policies ignore it.

        Raises:
          EngineError: If a variable was deleted or belongs to another engine, there is no such
            stream, or the engine is closed. Nothing is pushed then.
        """
        name, file, line = _site(name, fn, sys._getframe(1))
        if isinstance(fn, Native):
            self._engine.push_native(
                fn.address, fn.argument, fn.keep, read, mutate, priority, stream, name, file, line
            )
        else:
            self._engine.push(fn, read, mutate, priority, stream, name, file, line)

    def push_async(
        self,
        fn: Callable[[Callable[[], None]], object],
        read: Iterable = (),
        mutate: Iterable = (),
        priority: int = 0,
        name: str | None = None,
        *,
        stream: int = 0,
    ) -> None:
        """Pushes a `fn(done)` that only starts something, such as a download.

        The variables that it names stay in use until any thread calls `done()` or
        `done.fail(error)`. The operation fails if `done` is dropped uncalled, or if `fn` raises.

        >>> import threading
        >>> from cavs_tf.engine import Engine
        >>> with Engine(workers=1) as engine:
        ...     x = engine.new_variable("x")
        ...     engine.push_async(lambda done: threading.Timer(0.01, done).start(), mutate=[x])
        ...     engine.push(lambda: print("after the timer"), read=[x])
        after the timer
        """
        name, file, line = _site(name, fn, sys._getframe(1))
        self._engine.push_async(fn, read, mutate, priority, stream, name, file, line)

    def wait_for(self, variable) -> None:
        """Returns when every operation pushed before that names `variable` is done.

        Raises:
          OperationError: The error that kept it from having a value, unless an earlier wait, for
            any variable, has raised it. `__cause__` is the exception.
          OperationErrors: If several errors kept it from having a value.
        """
        errors = self._engine.wait_for(variable)
        if errors:
            raise as_exception(errors[0]) if len(errors) == 1 else OperationErrors.of(errors)

    def wait_all(self) -> None:
        """Returns when all operations pushed before, and all that they pushed, are done.

        Raises:
          OperationErrors: An `ExceptionGroup` of all errors that no wait has raised before.
        """
        errors = self._engine.wait_all()
        if errors:
            raise OperationErrors.of(errors)

    def delete(self, variable) -> None:
        """Deletes `variable` once all operations pushed before are done; nobody may name it now."""
        self._engine.delete(variable)

    def version(self, variable) -> int:
        """The number of operations, without skipped ones, that have mutated `variable`."""
        return self._engine.version(variable)

    def dump(self) -> str:
        """A text that lists the operations that are not done, and what each waits for."""
        return self._engine.dump()

    def start_trace(self) -> None:
        """Starts to record which operations run, when and where; discards an earlier recording."""
        self._engine.start_trace()

    def stop_trace(self) -> Trace:
        """Stops recording, and returns the operations that have run since `start_trace`."""
        return Trace(self._engine.stop_trace())

    def close(self) -> None:
        """Runs the operations that can run, then ends the threads. Nothing can be pushed any more.

        Operations that wait for an asynchronous one that is not done are cancelled, as its `done`
        may never be called. If it will be, call `wait_all` first. Ctrl-C cancels all operations
        that have not begun, and leaves running ones to their threads.

        Raises:
          OperationErrors: All errors that no wait has raised.
        """
        errors = self._engine.close()
        atexit.unregister(self._at_exit)
        if errors:
            raise OperationErrors.of(errors)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, kind, error, traceback: types.TracebackType | None) -> None:
        try:
            if kind is None:
                self.wait_all()
        finally:
            print_errors(self._engine.close())
            atexit.unregister(self._at_exit)

    def __del__(self):
        if hasattr(self, "_at_exit"):
            print_errors(self._engine.close())
            atexit.unregister(self._at_exit)

    def __repr__(self) -> str:
        return f"<Engine {self.policy}>"


def _choose_policy(policy: str) -> tuple[str, str]:
    if override := os.environ.get("CAVS_ENGINE"):
        return "CAVS_ENGINE", override
    return "policy", policy


def _close_at_exit(reference: "weakref.ref[Engine]") -> Callable[[], None]:
    """Ends the threads before Python ends, in which operations run."""

    def close():
        engine = reference()
        if engine is not None:
            print_errors(engine._engine.close())

    atexit.register(close)
    return close


def _site(name: str | None, fn, frame: types.FrameType) -> tuple[str, str, int]:
    if not callable(fn) and not isinstance(fn, Native):
        raise EngineError(
            f"fn: got {fn!r} but expected something to call. Push the function, not its result."
        )
    name = name or getattr(fn, "__name__", None) or type(fn).__name__
    return name, frame.f_code.co_filename, frame.f_lineno

"""Errors of the dependency engine, and of the operations that it runs."""

import builtins
import sys

from cavs_tf._native.engine_library import library

EngineError = library.EngineError


class OperationError(RuntimeError):
    """An exception that left an operation; `__cause__` is that exception.

    Attributes:
      name: The name of the operation.
      file, line: The place where the operation was pushed.
    """

    def __init__(self, message: str, name: str, file: str, line: int):
        super().__init__(message)
        self.name = name
        self.file = file
        self.line = line

    def __reduce__(self):
        return type(self), (self.args[0], self.name, self.file, self.line)


class _Group(Exception):
    """A replacement of `ExceptionGroup` for Python 3.10, without `except*`."""

    def __init__(self, message: str, exceptions: list[Exception]):
        super().__init__(message, exceptions)
        self.message = message
        self.exceptions = tuple(exceptions)

    def __str__(self) -> str:
        return self.message


class OperationErrors(getattr(builtins, "ExceptionGroup", _Group)):
    """All errors that one wait observed, in push order: `exceptions` holds `OperationError`s."""

    @classmethod
    def of(cls, errors: list[tuple]) -> "OperationErrors":
        exceptions = [as_exception(error) for error in errors]
        count = f"{len(errors)} operation{'s' if len(errors) > 1 else ''} failed"
        return cls("\n  ".join([count, *map(str, exceptions)]), exceptions)

    def derive(self, exceptions):
        return OperationErrors(self.message, exceptions)


def as_exception(error: tuple) -> OperationError:
    """The exception for an error that the compiled engine reports."""
    name, file, line, message, cause = error
    exception = OperationError(message, name, file, line)
    exception.__cause__ = cause
    return exception


def print_errors(errors: list[tuple]) -> None:
    """Prints errors that no wait raised, as Python prints exceptions that end a thread."""
    for error in map(as_exception, errors):
        sys.excepthook(type(error), error, error.__traceback__)

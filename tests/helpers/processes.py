"""Processes that tests start."""

import contextlib
import faulthandler
import multiprocessing
import os
import pathlib
import runpy
import sys
import time
import traceback
import warnings


def environment() -> dict:
    """An environment in which Python finds the same `cavs_tf` as here, perhaps sanitized."""
    paths = [path for path in sys.path if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}


def run_program(program: str, folder: pathlib.Path, path: pathlib.Path) -> tuple[bool, str, str]:
    """Runs a Python program in a process of its own; warnings of the class UserWarning are errors.

    The process is forked from one that has imported TensorFlow but not used it, as an import takes
    longer than most programs.

    Args:
      program: Its text.
      folder: An empty folder, in which it runs.
      path: Where it finds further modules.

    Returns:
      Whether it succeeded, what it printed, and the error.
    """
    failure = call(_execute, (program, path), folder)
    return not failure, "" if failure else (folder / "printed.txt").read_text(), failure


def run_script(path, arguments, folder: pathlib.Path, **environment) -> tuple[bool, str, str]:
    """Runs a script or a module in a process that is forked as that of `run_program`.

    Args:
      path: A file, or the name of a module.
      arguments: What follows it on the command line.
      folder: As for `call`.
      environment: Variables of the environment.

    Returns:
      As `run_program`; the error is all of the standard error.
    """
    failure = call(_run_script, (path, arguments, environment), folder)
    return not failure, (folder / "printed.txt").read_text(), failure


def printed_by(function, arguments: tuple, folder: pathlib.Path, **environment) -> str:
    """Calls a function as `call` does; returns what it printed, and fails if it failed.

    Args:
      environment: Variables of the environment, which the function finds there.
    """
    failure = call(_with_environment, (function, arguments, environment), folder)
    assert not failure, failure
    return (folder / "printed.txt").read_text()


def _with_environment(function, arguments, environment):
    os.environ |= environment
    function(*arguments)


def call(function, arguments: tuple, folder: pathlib.Path) -> str:
    """Calls a function of a module in a process that is forked as that of `run_program`.

    Args:
      function, arguments: Both can be pickled.
      folder: Where it runs; `printed.txt` has what it printed.

    Returns:
      The error, a traceback where there is one; empty if it succeeded.
    """
    process = start(function, arguments, folder)
    process.join(300)
    if process.is_alive():
        process.kill()
        process.join()
        return "It did not end within 300 seconds."
    if process.exitcode != 0:
        return f"{(folder / 'error.txt').read_text()}\nIt ended with status {process.exitcode}."
    return ""


def start(function, arguments: tuple, folder: pathlib.Path) -> multiprocessing.Process:
    """Starts what `call` waits for."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["keras", "tensorflow", "cavs_tf"])
    (folder / "printed.txt").touch()
    (folder / "error.txt").write_text("The process ended before the program began.")
    process = forks.Process(target=_call, args=(function, arguments, folder))
    process.start()
    return process


def start_script(path, arguments, folder: pathlib.Path, **environment) -> multiprocessing.Process:
    """Starts what `run_script` waits for."""
    return start(_run_script, (path, arguments, environment), folder)


def _call(function, arguments, folder):
    with (
        (folder / "printed.txt").open("w") as out,
        (folder / "error.txt").open("w") as err,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        faulthandler.enable(err)
        try:
            os.chdir(folder)
            function(*arguments)
        except BaseException:
            traceback.print_exc(file=err)
            raise


def lines_of(process, folder: pathlib.Path):
    """The lines that a process prints that was started, as they come."""
    with (folder / "printed.txt").open() as file:
        while True:
            alive = process.is_alive()
            yield from iter(file.readline, "")
            if not alive:
                return
            time.sleep(0.02)


def _run_script(path, arguments, environment):
    for number in (1, 2):  # What other processes than this one print, too.
        os.dup2([sys.stdout, sys.stderr][number - 1].fileno(), number)
    os.environ |= environment
    sys.argv = [str(path), *map(str, arguments)]
    warnings.simplefilter("error", UserWarning)
    if pathlib.Path(path).is_file():
        sys.path.insert(0, str(pathlib.Path(path).parent))
        runpy.run_path(str(path), run_name="__main__")
    else:
        runpy.run_module(path, run_name="__main__", alter_sys=True)


def _execute(program, path):
    sys.path.append(str(path))
    sys.argv = ["program.py"]  # Not what this process was started with.
    warnings.simplefilter("error", UserWarning)
    exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})

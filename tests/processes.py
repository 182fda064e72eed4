"""Processes that tests start."""

import contextlib
import multiprocessing
import os
import pathlib
import sys
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
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["keras", "tensorflow", "cavs_tf"])
    printed, error = folder / "printed.txt", folder / "error.txt"
    error.write_text("The process ended before the program began.")
    process = forks.Process(target=_execute, args=(program, folder, path, printed, error))
    process.start()
    process.join(300)
    if process.is_alive():
        process.kill()
        process.join()
        return False, "", "It did not end within 300 seconds."
    if process.exitcode != 0:
        return False, "", error.read_text() or f"It ended with status {process.exitcode}."
    return True, printed.read_text(), ""


def _execute(program, folder, path, printed, error):
    with printed.open("w") as out, error.open("w") as err, contextlib.redirect_stdout(out):
        try:
            os.chdir(folder)
            sys.path.append(str(path))
            sys.argv = ["program.py"]  # Not what this process was started with.
            warnings.simplefilter("error", UserWarning)
            exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc(file=err)
            raise

"""Runs cases in processes that have the test device."""

import os
import pathlib
import pickle

import keras

from tests import processes
from tests.accelerator import cases, device


def on_device(case: str, folder: pathlib.Path, *arguments, **options):
    """The results of a case in a process with the device.

    Args:
      case: A function of `cases`.
      folder: Where the process runs.
      *arguments: Of the function.
      **options: Variables of the environment that the device reads, as texts.

    Raises:
      AssertionError: If the process fails.
    """
    folder.mkdir(exist_ok=True)
    error = processes.call(_run, (device.library(), case, arguments, options), folder)
    assert not error, error
    return pickle.loads((folder / "results.pickle").read_bytes())


def here(case: str, *arguments):
    """The results of a case in this process, which has no such device."""
    keras.utils.set_random_seed(0)
    return getattr(cases, case)(*arguments)


def _run(library, case, arguments, options):
    os.environ |= options
    device.load(library)
    pathlib.Path("results.pickle").write_bytes(pickle.dumps(here(case, *arguments)))

"""Another program that measures its own speed: a Tree-LSTM written by hand, for example."""

import pathlib
import re
import shlex
import subprocess

from benchmarks.peers import _base

_RATE = re.compile(r"([\d.,]+(?:e[+-]?\d+)?) trees/s")


class Peer(_base.Peer):
    """Runs a command that prints `<number> trees/s`, in the program's folder.

    What it computes is not compared with anything, so it has to be the same model.

    Args:
      command: With {units}, {batch}, {threads} and {inference} (0 or 1) to fill in.
    """

    comparable = False

    def __init__(self, workload, threads, command=None):
        super().__init__(workload, threads)
        if command is None:
            raise _base.Unsupported("no program: name one with --ceiling")
        if workload.name != "tree_lstm":
            raise _base.Unsupported("the program is a Tree-LSTM")
        self._command = command
        self.version = pathlib.Path(shlex.split(command)[0]).name

    def rate(self, mode, seconds):
        # The program itself decides how long it runs.
        settings = self.workload.settings
        program, *arguments = shlex.split(
            self._command.format(
                units=settings.units,
                batch=settings.batch,
                threads=self.threads,
                inference=int(mode == "inference"),
            )
        )
        path = pathlib.Path(program).resolve()
        done = subprocess.run(
            [str(path), *arguments], cwd=path.parent, capture_output=True, text=True, check=False
        )
        found = _RATE.search(done.stdout)
        if done.returncode or not found:
            said = (done.stderr or done.stdout).strip()[-200:]
            raise RuntimeError(
                f"{path.name}: got exit status {done.returncode} and {said!r} but expected "
                "'<number> trees/s'"
            )
        return float(found.group(1).replace(",", ""))

    def gradients(self):
        raise NotImplementedError

    def train(self, index):
        raise NotImplementedError

    def infer(self, index):
        raise NotImplementedError

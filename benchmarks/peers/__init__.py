"""The systems that are compared: one module or package for each, found by its name.

It defines `class Peer(Base)`. Only the process that runs a peer imports it.
"""

import importlib
import pathlib

from benchmarks.peers._base import Peer as Peer
from benchmarks.peers._base import Unsupported as Unsupported


def names() -> list[str]:
    """The names of all peers, ours first, whether what they need is installed or not."""
    folder = pathlib.Path(__file__).parent
    modules = [path.stem for path in folder.glob("[a-z]*.py")]
    packages = [path.parent.name for path in folder.glob("[a-z]*/__init__.py")]
    return sorted(sorted(modules + packages), key=lambda name: not name.startswith("cavs"))


def make(name: str, workload, threads: int, options: dict) -> Peer:
    """Sets a system up, in the process that will run it.

    Raises:
      ModuleNotFoundError: If it is not installed.
      Unsupported: If it does not run the workload, or does not have such options.
    """
    module = importlib.import_module(f"benchmarks.peers.{name}")
    return module.Peer(workload, threads, **options)

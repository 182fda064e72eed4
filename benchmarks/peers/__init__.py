"""The systems that are compared: a module for each peer, and peers with options.

A module defines `class Peer(Base)`. Only the process that runs a peer imports it.
"""

import functools
import importlib
import pathlib
import types

from benchmarks.peers._base import Peer as Peer
from benchmarks.peers._base import Unsupported as Unsupported

# Systems that are another peer with options.
VARIANTS = types.MappingProxyType(
    {
        "cavs_bfloat16": ("cavs", {"bfloat16": True}),
        "cavs_gates": ("cavs", {"form": "gates"}),
        "cavs_loop": ("cavs", {"steps_per_call": 8}),
        "cavs_ops": ("cavs", {"ops_alone": True, "steps_per_call": 32}),
        "keras_xla": ("keras", {"jit_compile": True}),
    }
)

# What pip calls modules of other names or versions.
_PACKAGES = types.MappingProxyType({"dgl": "'dgl<2'"})


def names() -> list[str]:
    """The names of all systems, ours first, whether or not what they need is installed."""
    modules = [path.stem for path in pathlib.Path(__file__).parent.glob("[a-z]*.py")]
    return sorted([*modules, *VARIANTS], key=lambda name: (not name.startswith("cavs"), name))


def load(system: str):
    """A function of (workload, threads, **options) that sets the system up.

    Call both in the process that will run it. The second raises `Unsupported` if the system does
    not run the workload, or does not have such options.

    Raises:
      ModuleNotFoundError: If it is not installed.
    """
    peer, own = VARIANTS.get(system, (system, {}))
    try:
        module = importlib.import_module(f"benchmarks.peers.{peer}")
    except ModuleNotFoundError as missing:
        package = _PACKAGES.get(missing.name, missing.name)
        raise ModuleNotFoundError(
            f"{missing}, which {system} needs. Run `pip install {package}` "
            "(benchmarks/README.md says more).",
            name=missing.name,
        ) from None
    return functools.partial(module.Peer, **own)

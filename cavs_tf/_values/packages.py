"""Packages that only some functions need."""

import importlib
import types


def imported(package: str, name: str) -> types.ModuleType:
    """The package, which `name` needs; ImportError, which says how to install it, without it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{name}: got no package {package!r} ({error}) but expected it, as {name} works with "
            f"it. Run `pip install {package}`."
        ) from None

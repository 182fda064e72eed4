"""Checks of arguments where they are given."""

import numbers
import operator

import numpy as np

# The arguments that Keras's `Layer` takes from all layers, which do not write them out.
OF_LAYERS = ("name", "dtype", "trainable", "input_shape", "input_dim")


def check_bools(**arguments) -> None:
    """Raises ValueError unless all arguments are booleans: `"no"` would be true."""
    for name, value in arguments.items():
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(
                f"{name}: got {value!r} but expected True or False. Pass one of the two."
            )


def checked_size(name: str, value, least: int = 1) -> int:
    """The value as an int; ValueError unless it is an integer of at least `least`."""
    try:
        size = least - 1 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        size = least - 1
    if size < least:
        raise ValueError(
            f"{name}: got {value!r} but expected an int of at least {least}. Pass one."
        )
    return size


def checked_int(name: str, value) -> int | None:
    """The value as an int, or None; ValueError unless it is an integer or None."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return None if value is None else operator.index(value)
    except TypeError:
        raise ValueError(
            f"{name}: got {value!r} but expected an int or None. Pass one, or leave it out."
        ) from None


def check_rate(name: str, value) -> None:
    """Raises ValueError unless the value is a share that may be dropped, in [0, 1)."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= value < 1:
        raise ValueError(
            f"{name}: got {value!r} but expected a number in [0, 1). It is the share of elements "
            "that is dropped."
        )


def written_out(given: dict, others=()) -> dict:
    """All arguments of an `__init__` by name, so that a signature need not be repeated.

    Args:
      given: `locals()`, in the first statement of the method. Its `kwargs` may have `OF_LAYERS`
        and `others`.

    Raises:
      ValueError: If `kwargs` has something else.
    """
    own = {k: v for k, v in given.items() if k not in ("self", "__class__", "kwargs")}
    allowed = (*others, *OF_LAYERS)
    for name, value in given["kwargs"].items():
        if name not in allowed:
            known = ", ".join(other for other in (*own, *allowed) if other != name)
            raise ValueError(
                f"{name}: got {value!r} but expected an argument of {type(given['self']).__name__}:"
                f" {known}. Leave it out, or take a layer that has it."
            )
    return own | given["kwargs"]

"""Systems in one process: their numbers are compared, then they are timed in turns.

For steps that are too unlike the workloads of `harness.py` to be cells of it.
"""

import importlib.util
import statistics
import time

import numpy as np

from benchmarks import flags

# Long enough for the threads of the system before to stop spinning.
_PAUSE_SECONDS = 0.02


def compare(*found: tuple, tolerance=2e-3, floor=2e-3, zeros=False) -> None:
    """Compares (loss, gradients) of systems with those of the first.

    Args:
      found: A loss and its gradients, arrays in the same order, of each system.
      tolerance: Of gradients, relative; losses have 1e-4.
      floor: The difference that any element may have, as a share of the largest in its array.
      zeros: Whether an array may be zero but for rounding; the share is then that of the largest
        of all.

    Raises:
      AssertionError: If they differ.
    """
    (loss, gradients), *others = found
    for other_loss, other_gradients in others:
        np.testing.assert_allclose(loss, other_loss, rtol=1e-4)
        largest = [np.abs(other).max() for other in other_gradients]
        scales = [max(largest)] * len(largest) if zeros else largest
        for one, other, scale in zip(gradients, other_gradients, scales, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=floor * scale)


def milliseconds(steps: dict, turns: int) -> dict[str, list[float]]:
    """The milliseconds of functions in every turn, in an order that rotates.

    Each is called once before it is timed: to fill the caches, which another one has used.
    """
    times = {name: [] for name in steps}
    names = list(steps)
    for turn in range(turns + 1):  # The first one warms up.
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            time.sleep(_PAUSE_SECONDS)
            steps[name]()
            start = time.perf_counter()
            steps[name]()
            if turn:
                times[name].append(1e3 * (time.perf_counter() - start))
    return times


def texts(times: dict[str, list[float]], ratio: str) -> dict[str, str]:
    """The medians by name, and the median ratio of the best of the others to the first."""
    shown = {name: f"{statistics.median(taken):.2f} ms" for name, taken in times.items()}
    ours, *others = times.values()
    if others:
        best = min(others, key=statistics.median)
        of_turns = (other / own for own, other in zip(ours, best, strict=True))
        shown[ratio] = f"{statistics.median(of_turns):.2f}"
    return shown


def installed(name: str, *packages: str) -> bool:
    """Whether what a system needs is installed; if not, prints how to install it."""
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        print(f"{name}: {', '.join(missing)}: not installed. pip install {' '.join(missing)}")
    return not missing


def parser(document: str, turns: int):
    """A parser with the flags of these benchmarks, from the docstring of a program."""
    made = flags.plain_parser(document.partition("\n")[0])
    made.add_argument("--units", type=flags.integers(1), default="64,256", help="sizes of states")
    made.add_argument("--turns", type=flags.integer(1), default=turns, help="of every system")
    return made


def limit_threads(threads: int) -> None:
    """Sets the threads of TensorFlow, as docs/how/performance.md advises."""
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(threads)

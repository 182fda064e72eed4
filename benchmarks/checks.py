"""Compares what systems compute, before any of them is timed."""

import numpy as np

from benchmarks import oracle

# For float32 sums of some thousand terms, added in different orders.
LOSS_TOLERANCE = 1e-4
GRADIENT_TOLERANCE = 2e-3


class Checker:
    """The right results of one cell, from the definition in float64.

    The definition gives the first loss, and the slope of it along random signs for all
    weights. The first system to agree with it sets the losses of later steps and the
    gradients by each weight for the others.
    """

    def __init__(self, workload, mode: str):
        first = workload.minibatches[0]
        self._loss = oracle.loss(workload, first)
        self._training = mode == "training"
        self._agreed = None
        if self._training:
            generator = np.random.default_rng(3)
            self._signs = {
                name: generator.choice([-1.0, 1.0], weight.shape)
                for name, weight in workload.weights.items()
            }
            self._slope = oracle.slope(workload, first, self._signs)

    def complaint(self, system: str, losses, gradients, slack: float = 1.0) -> str | None:
        """A sentence on what is wrong with a system's first steps, or None.

        All tolerances are multiplied by `slack`. With more than 1 it sets nothing for others.
        """
        if not _close(losses[0], self._loss, slack * LOSS_TOLERANCE):
            return f"wrong loss: got {losses[0]!r} but expected {self._loss!r}"
        if self._training and (missing := sorted(set(self._signs) - set(gradients))):
            return f"no gradient by {', '.join(missing)}"
        if self._agreed is not None and (wrong := self._difference(losses, gradients, slack)):
            return wrong
        if self._training and (wrong := self._wrong_slope(gradients, slack)):
            return wrong
        if slack <= 1.0:
            self._agreed = self._agreed or (system, losses, gradients)
        return None

    def _wrong_slope(self, gradients, slack) -> str | None:
        parts = [float((g * self._signs[n]).sum(dtype=np.float64)) for n, g in gradients.items()]
        norm = np.sqrt(sum(float(np.square(g, dtype=np.float64).sum()) for g in gradients.values()))
        if abs(sum(parts) - self._slope) <= slack * GRADIENT_TOLERANCE * norm:
            return None
        return f"wrong gradients: got a slope of {sum(parts)!r} but expected {self._slope!r}"

    def _difference(self, losses, gradients, slack) -> str | None:
        system, agreed_losses, agreed_gradients = self._agreed
        for step, (got, expected) in enumerate(zip(losses, agreed_losses, strict=True)):
            if not _close(got, expected, slack * LOSS_TOLERANCE):
                return f"loss of step {step}: got {got!r} but {system} has {expected!r}"
        for name, expected in agreed_gradients.items():
            error = float(np.abs(gradients[name] - expected).max())
            if not error <= slack * GRADIENT_TOLERANCE * float(np.abs(expected).max()):
                return f"gradient by {name}: differs by {error:.3g} from that of {system}"
        return None


def _close(got: float, expected: float, tolerance: float) -> bool:
    return abs(got - expected) <= tolerance * abs(expected)

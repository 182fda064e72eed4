"""Rounds of message passing over molecules: ours, PyTorch by hand and PyTorch Geometric.

    python -m benchmarks.molecules --units=64,256 --threads=2

A gated graph neural network (Li et al. 2016, arXiv:1511.05493) of 4 rounds over random graphs like
molecules: 10 to 40 atoms, of which each has up to 4 bonds, with rings. A training step embeds the
atoms, runs the rounds, adds up the states of each molecule, predicts a number of it, and updates
all weights by SGD. Losses and gradients are compared before anything is timed; then all systems
take turns, each a pass over all minibatches.
"""

import dataclasses
import sys

import keras
import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from benchmarks import contest, flags, tables

ROUNDS, ELEMENTS, BONDS, MINIBATCHES = 4, 10, 4, 4
RATE = 1e-4  # Of learning.


@dataclasses.dataclass(frozen=True)
class Minibatch:
    """Molecules side by side.

    Attributes:
      sizes: [B], the number of atoms of each.
      edges: One [n, 2] array per molecule of (source, target): each bond in both directions.
      atom: int32 [N], the element of each atom.
      label: float32 [B].
    """

    sizes: np.ndarray
    edges: list[np.ndarray]
    atom: np.ndarray
    label: np.ndarray


def molecules(generator, count: int) -> Minibatch:
    """Random trees of atoms with up to `BONDS` bonds each, and some more bonds that close rings."""
    sizes = generator.integers(10, 41, count)
    edges = [_bonds(generator, size) for size in sizes]
    atom = generator.integers(0, ELEMENTS, sizes.sum()).astype(np.int32)
    return Minibatch(sizes, edges, atom, generator.normal(size=count).astype(np.float32))


def _bonds(generator, size: int) -> np.ndarray:
    bonds, degree = [], np.zeros(size, int)

    def connect(v, others):
        free = [u for u in others if degree[u] < BONDS and (u, v) not in bonds]
        if free and degree[v] < BONDS:
            other = int(generator.choice(free))
            bonds.append((other, v))
            degree[[other, v]] += 1

    for v in range(1, size):
        connect(v, range(max(0, v - 6), v))
    for v in generator.choice(np.arange(5, size), size // 8, replace=False):
        connect(int(v), range(v - 5, v - 3))  # A ring of five or six, where the chain is straight.
    return np.array([pair for u, v in bonds for pair in ((u, v), (v, u))])


class Ours:
    """`cavs_tf.keras.GGNN`, in a compiled step."""

    name = "cavs_tf"
    packages = ()

    def __init__(self, minibatches, units, threads):
        del threads
        self._table = keras.layers.Embedding(ELEMENTS, units)
        self._rounds = cavs.keras.GGNN(units)
        self._head = keras.layers.Dense(1)
        self._minibatches = [self._prepared(minibatch) for minibatch in minibatches]
        self._loss(*self._minibatches[0])  # Makes the weights.
        layers = (self._table, self._rounds, self._head)
        self._variables = [v.value for layer in layers for v in layer.trainable_variables]
        self._gradients_of = tf.function(self._gradients, reduce_retracing=True)
        self._step = tf.function(self._train, reduce_retracing=True)

    def _prepared(self, minibatch: Minibatch) -> tuple:
        graphs, _ = cavs.GraphBatch.from_rounds(
            minibatch.sizes, minibatch.edges, ROUNDS, layout="pairs"
        )
        return graphs.with_schedule(arity=1, edges=True), minibatch.atom, minibatch.label

    def _loss(self, graphs, atom, label):
        predicted = self._head(self._rounds(graphs, self._table(atom)))
        return tf.reduce_mean(tf.square(predicted[:, 0] - label))

    def _gradients(self, *minibatch):
        with tf.GradientTape() as tape:
            loss = self._loss(*minibatch)
        return loss, tape.gradient(loss, self._variables)

    def _train(self, *minibatch):
        loss, gradients = self._gradients(*minibatch)
        for variable, gradient in zip(self._variables, gradients, strict=True):
            if isinstance(gradient, tf.IndexedSlices):
                variable.scatter_sub(tf.IndexedSlices(RATE * gradient.values, gradient.indices))
            else:
                variable.assign_sub(RATE * gradient)
        return loss

    def weights(self) -> list[np.ndarray]:
        """Embeddings, message, kernel, recurrent kernel, bias, and those of the last layer."""
        return [variable.numpy() for variable in self._variables]

    def take(self, weights) -> None:
        for variable, value in zip(self._variables, weights, strict=True):
            variable.assign(value)

    def gradients(self, number: int) -> tuple:
        loss, gradients = self._gradients_of(*self._minibatches[number])
        return float(loss), [tf.convert_to_tensor(gradient).numpy() for gradient in gradients]

    def step(self, number: int) -> float:
        return float(self._step(*self._minibatches[number]))


class ByHand:
    """PyTorch: messages gathered and added up by `index_add`, then a `GRUCell`."""

    name = "PyTorch by hand"
    packages = ("torch",)

    def __init__(self, minibatches, units, threads):
        import torch

        torch.set_num_threads(threads)
        torch.set_flush_denormal(True)
        self._torch, self._units = torch, units
        self._table = torch.nn.Embedding(ELEMENTS, units)
        self._head = torch.nn.Linear(units, 1)
        self._make()
        self._minibatches = [self._prepared(minibatch) for minibatch in minibatches]

    def _make(self) -> None:
        torch, units = self._torch, self._units
        self._message = torch.nn.Parameter(torch.empty(units, units))
        self._gru = torch.nn.GRUCell(units, units)

    def _prepared(self, minibatch: Minibatch):
        first = np.cumsum([0, *minibatch.sizes[:-1]])
        edges = np.concatenate([e + f for e, f in zip(minibatch.edges, first, strict=True)])
        molecule = np.repeat(np.arange(len(first)), minibatch.sizes)
        arrays = (edges.T, minibatch.atom.astype(np.int64), molecule, minibatch.label)
        return [self._torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]

    def _run(self, edges, h):
        source, target = edges
        for _ in range(ROUNDS):
            sent = (h @ self._message).index_select(0, source)
            h = self._gru(self._torch.zeros_like(h).index_add(0, target, sent), h)
        return h

    def _loss(self, edges, atom, molecule, label):
        h = self._run(edges, self._table(atom))
        whole = self._torch.zeros(len(label), self._units).index_add(0, molecule, h)
        return (self._head(whole)[:, 0] - label).square().mean()

    def _parameters(self) -> list:
        gru = self._gru
        weights = [self._message, gru.weight_ih, gru.weight_hh, gru.bias_ih, gru.bias_hh]
        return [self._table.weight, *weights, self._head.weight, self._head.bias]

    def take(self, weights) -> None:
        """Takes what `Ours.weights` returns, whose gates are in the order z, r, n."""
        table, message, kernel, recurrent, bias, head, head_bias = weights
        values = [table, message, kernel.T, recurrent.T, *bias, head.T, head_bias]
        values[2:6] = [_exchanged(gates) for gates in values[2:6]]
        with self._torch.no_grad():
            for parameter, value in zip(self._parameters(), values, strict=True):
                value = self._torch.from_numpy(np.ascontiguousarray(value))
                parameter.copy_(value.expand_as(parameter))

    def gradients(self, number: int) -> tuple:
        """(loss, gradients), these as ours."""
        parameters = self._parameters()
        loss = self._loss(*self._minibatches[number])
        found = self._torch.autograd.grad(loss, parameters)
        table, message, *gates, head, head_bias = (gradient.numpy() for gradient in found)
        kernel, recurrent, *bias = map(_exchanged, gates)
        message = message.reshape(-1, *message.shape[-2:]).sum(axis=0)
        ours = [table, message, kernel.T, recurrent.T, np.stack(bias), head.T, head_bias]
        return float(loss.detach()), ours

    def step(self, number: int) -> float:
        parameters = self._parameters()
        loss = self._loss(*self._minibatches[number])
        gradients = self._torch.autograd.grad(loss, parameters)
        with self._torch.no_grad():
            self._torch._foreach_add_(parameters, gradients, alpha=-RATE)
        return float(loss.detach())


class Geometric(ByHand):
    """`torch_geometric.nn.GatedGraphConv`, which has a weight of messages for each round."""

    name = "PyTorch Geometric"
    packages = ("torch", "torch_geometric")

    def _make(self):
        from torch_geometric.nn import GatedGraphConv

        self._conv = GatedGraphConv(self._units, ROUNDS)
        self._message, self._gru = self._conv.weight, self._conv.rnn

    def _run(self, edges, h):
        return self._conv(h, edges)


SYSTEMS = (Ours, ByHand, Geometric)


def _exchanged(gates):
    """The gates r, z, n of PyTorch as z, r, n, or the other way round."""
    first, second, last = np.split(gates, 3)
    return np.concatenate([second, first, last])


def prepare(units, batch, threads, seed=0) -> list:
    """The systems that are installed, with the same weights and minibatches."""
    generator = np.random.default_rng(seed)
    minibatches = [molecules(generator, batch) for _ in range(MINIBATCHES)]
    keras.utils.set_random_seed(seed)
    systems = [
        make(minibatches, units, threads)
        for make in SYSTEMS
        if contest.installed(make.name, *make.packages)
    ]
    weights = systems[0].weights()
    for system in systems:
        system.take(weights)
    return systems


def milliseconds(systems, turns) -> dict[str, list[float]]:
    """The milliseconds of a pass over all minibatches, by turn.

    Raises:
      AssertionError: If losses or gradients differ.
    """
    for number in range(MINIBATCHES):
        contest.compare(*(system.gradients(number) for system in systems))

    def a_pass(system):
        return lambda: [system.step(number) for number in range(MINIBATCHES)]

    return contest.milliseconds({system.name: a_pass(system) for system in systems}, turns)


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    parser = contest.parser(__doc__, turns=11)
    parser.add_argument("--batch", type=flags.integer(1), default=64, help="molecules")
    arguments = parser.parse_args(argv)
    contest.limit_threads(arguments.threads)
    rows = {}
    for units in arguments.units:
        systems = prepare(units, arguments.batch, arguments.threads, arguments.seed)
        times = milliseconds(systems, arguments.turns)
        of_steps = {name: [ms / MINIBATCHES for ms in taken] for name, taken in times.items()}
        rows[f"{units} units"] = contest.texts(of_steps, "best / ours")
    columns = [*(system.name for system in SYSTEMS), "best / ours"]
    tables.Table(f"{arguments.batch} molecules, {ROUNDS} rounds", columns, rows).print()
    return 0


if __name__ == "__main__":
    sys.exit(main())

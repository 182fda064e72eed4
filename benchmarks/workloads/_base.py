"""The base class of workloads."""

import abc
import dataclasses
import functools

import numpy as np

CLASSES = 5
# The learning rate per labelled vertex of a mean minibatch: the loss must move within a few steps,
# and not diverge within minutes.
LEARNING_RATE = 0.1


@dataclasses.dataclass(frozen=True)
class Settings:
    """The sizes of one cell of a table.

    Attributes:
      units: The size of the hidden state h, and of inputs.
      batch: The number of graphs in a minibatch.
      seed: The seed of weights and of generated data.
      sst: The folder of the Stanford Sentiment Treebank, of which train.txt is read, or one of
        its files; None: data are generated.
      leaves: The number of leaves of a tree of workload tree_fc.
      steps: The number of tokens in a sequence of workload fixed_lstm.
      minibatches: The number of different minibatches; None: enough for their mean.
    """

    units: int = 256
    batch: int = 64
    seed: int = 0
    sst: str | None = None
    leaves: int = 256
    steps: int = 64
    minibatches: int | None = None

    @property
    def num_minibatches(self) -> int:
        return self.minibatches or max(2, min(128, 512 // self.batch))

    @property
    def num_examples(self) -> int:
        return self.num_minibatches * self.batch


@dataclasses.dataclass(frozen=True)
class Examples:
    """Graphs of V vertices; children precede their parents, and roots are last.

    Attributes:
      graph_splits: int64 [B + 1]. Graph g owns rows [graph_splits[g], graph_splits[g + 1]).
      children: int32 [V, arity], relative to the graph; -1 for no child.
      token: int32 [V]: the row of the embedding that a vertex pulls; 0 where it pulls none.
      label: int32 [V], in [0, CLASSES); -1 for a vertex without a loss.
      num_tokens: The number of rows of the embedding.
      kind: int32 [V]: an index into the workload's vertex types. None: 0 for leaves, else 1.
      outputs: int32 [V, n], relative to the graph: the vertices whose h are the output of a
        vertex; read where it has a label. None: its own.
    """

    graph_splits: np.ndarray
    children: np.ndarray
    token: np.ndarray
    label: np.ndarray
    num_tokens: int
    kind: np.ndarray | None = None
    outputs: np.ndarray | None = None

    def minibatch(self, first: int, last: int) -> "Minibatch":
        """The graphs in [first, last)."""
        splits = self.graph_splits[first : last + 1]
        rows = slice(splits[0], splits[-1])
        splits = splits - splits[0]
        children = self.children[rows]
        starts = np.repeat(splits[:-1], np.diff(splits))[:, None]
        absolute = np.where(children < 0, -1, children + starts)
        inner = (children >= 0).any(axis=1).astype(np.int32)
        own = np.arange(len(children))[:, None]
        return Minibatch(
            splits,
            absolute,
            self.token[rows],
            self.label[rows],
            inner if self.kind is None else self.kind[rows],
            own if self.outputs is None else self.outputs[rows] + starts,
        )


@dataclasses.dataclass(frozen=True)
class Minibatch:
    """As `Examples`, with vertices numbered within the minibatch."""

    graph_splits: np.ndarray
    children: np.ndarray
    token: np.ndarray
    label: np.ndarray
    kind: np.ndarray
    outputs: np.ndarray

    @functools.cached_property
    def is_leaf(self) -> np.ndarray:
        return (self.children < 0).all(axis=1)

    @property
    def num_graphs(self) -> int:
        return len(self.graph_splits) - 1

    @property
    def num_vertices(self) -> int:
        return len(self.token)


@dataclasses.dataclass(frozen=True)
class VertexType:
    """What vertices of one type read.

    Attributes:
      name: The name of the type.
      pulls: Whether they have an input of their own.
      slots: The number of first children that are told apart.
      sums: Whether they may have further children, which are summed over.
    """

    name: str
    pulls: bool
    slots: int = 0
    sums: bool = False


class Workload(abc.ABC):
    """Data, initial weights, the cell, the loss, and what it costs.

    The loss is the *sum* of softmax cross-entropies over all labelled vertices of the
    minibatch, of `h @ output + output_bias`; the optimizer is plain SGD, on the embedding too.

    The cell is written once for any array library, given as `xp` with sigmoid, tanh,
    split(x, n) and concat([...]) along the last axis. A state is a tuple of [rows, units]
    tensors, of which the last is h. The state of a missing child is zero.

    Attributes:
      arity: The most children of a vertex.
      unit: The unit of rates, such as trees.
      num_states: The number of tensors in a state.
      vertex_types: The types of vertices.
      layout: "chains" or "trees" where vertices without children are leaves and all others
        have `arity` of them, which they share with none; else "graphs".
    """

    arity: int
    unit: str
    num_states: int
    vertex_types: tuple[VertexType, ...]
    layout = "graphs"

    def __init__(self, name: str, settings: Settings):
        self.name = name
        self.settings = settings
        self.units = settings.units
        self.examples = self.make_examples()

    @abc.abstractmethod
    def make_examples(self) -> Examples:
        """Reads or generates the data."""

    @abc.abstractmethod
    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the cell's weights."""

    @abc.abstractmethod
    def given(self, xp, w, kind: int, x):
        """The terms of inputs at vertices of a type that pulls, which need no child."""

    @abc.abstractmethod
    def vertex(self, xp, w, kind: int, given, slots, edges) -> tuple:
        """The state of vertices of one type.

        Args:
          xp: The array library.
          w: Weights by name.
          kind: The number of the type.
          given: What `given` returned, or None if the type does not pull.
          slots: The states of the children that are told apart.
          edges: The others, if the type `sums`: `edges.sum(f, *values)` is the sum of
            f(child's state, *values) over the children of each vertex.
        """

    @abc.abstractmethod
    def forward_flops_of(self, minibatch: Minibatch) -> int:
        """The FLOP of the cell's matrix products."""

    def head(self, xp, w, outputs: list):
        """The rows that the output layer reads, from the h of a label's vertices."""
        return outputs[0]

    @functools.cached_property
    def minibatches(self) -> list[Minibatch]:
        batch = self.settings.batch
        starts = range(0, self.settings.num_examples, batch)
        return [self.examples.minibatch(first, first + batch) for first in starts]

    @functools.cached_property
    def weights(self) -> dict[str, np.ndarray]:
        """The weights in float32, the same for every system."""
        generator = np.random.default_rng([self.settings.seed, 1])
        limit = 0.85 / np.sqrt(self.units)
        return {
            name: generator.uniform(-limit, limit, shape).astype(np.float32)
            for name, shape in self.all_weight_shapes().items()
        }

    def all_weight_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all weights, with embedding and output layer."""
        return {
            "embedding": (self.examples.num_tokens, self.units),
            **self.weight_shapes(),
            "output": (self.units, CLASSES),
            "output_bias": (CLASSES,),
        }

    @functools.cached_property
    def learning_rate(self) -> float:
        labelled = sum(int((batch.label >= 0).sum()) for batch in self.minibatches)
        return LEARNING_RATE * len(self.minibatches) / labelled

    def flops(self, minibatch: Minibatch, mode: str) -> int:
        """The FLOP that the floor counts: matrix products of the cell without the output layer.

        In training the backward pass has twice those of the forward pass.
        """
        forward = self.forward_flops_of(minibatch)
        return 3 * forward if mode == "training" else forward

"""The models of `python/examples` in PyTorch, trained as its users would.

    python -m benchmarks.torch_programs sentiment --sst=<folder> --json=out.json

Trees in random order, planned level by level while it trains, `nn.Embedding`, `nn.Dropout`,
`nn.Linear`, autograd and `torch.optim.Adam`. The cells are the child-sum Tree-LSTMs of the
workloads `tree_lstm` (words at leaves) and `dependency_lstm` (a token at every vertex).
"""

import dataclasses
import json
import pathlib
import sys
import time
import typing

import numpy as np
import torch
from torch import nn

from benchmarks import flags, workloads
from benchmarks.peers import _torch_graphs
from benchmarks.peers import torch as peer
from benchmarks.workloads import _base, _treebank

# Those of the examples, as all numbers below.
UNITS = 128
EXPRESSIONS = 40_000, 2_000  # To learn from, and unseen.


class Model(nn.Module):
    """Embeds tokens, runs the cell, and classifies every vertex."""

    def __init__(self, graphs, workload, num_tokens: int, head: nn.Module, dropout: float = 0.0):
        super().__init__()
        weights = {n: torch.from_numpy(w) for n, w in _of_the_cell(workload).items()}
        weights["forget_bias"].fill_(1.0)
        self.weights = nn.ParameterDict(weights)
        self.graphs = graphs(workload)
        self.graphs.take(dict(self.weights))
        self.drop, self.head = nn.Dropout(dropout), head
        self.table = nn.Embedding(num_tokens, UNITS)
        # As Keras's: from the numbers of a standard normal distribution it learns more slowly.
        nn.init.uniform_(self.table.weight, -0.05, 0.05)

    def forward(self, plan):
        return self.head(self.drop(self.graphs.run(plan, self.drop(self.table(plan.token)))))


@dataclasses.dataclass
class Program:
    """A model, its data, and how it is trained.

    Attributes:
      train, test: Trees.
      model: What is trained.
      batch, learning_rate: As the example's flags.
      roots: The rows of the roots in what the model returns, from a minibatch.
      clip: The largest norm of all gradients; None: any.
      decay: Whether the learning rate falls to 0 as a cosine.
    """

    train: _base.Examples
    test: _base.Examples
    model: Model
    batch: int
    learning_rate: float
    roots: typing.Callable
    clip: float | None = None
    decay: bool = False

    def run(self, epochs: int) -> dict:
        """Trains; returns what the example's summary has."""
        optimizer = torch.optim.Adam(self.model.parameters(), self.learning_rate)
        num_trees = len(self.train.graph_splits) - 1
        steps = epochs * -(-num_trees // self.batch)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        seconds, accuracy = [], []
        for _ in range(epochs):
            self.model.train()
            started = time.perf_counter()
            for minibatch in self._minibatches(_shuffled(self.train)):
                plan = self.model.graphs.plan(minibatch)
                loss = nn.functional.cross_entropy(self.model(plan), plan.label)
                optimizer.zero_grad()
                loss.backward()
                if self.clip:
                    nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
                optimizer.step()
                if self.decay:
                    schedule.step()
            seconds.append(time.perf_counter() - started)
            accuracy.append(self._accuracy())
        return {
            "seconds_per_epoch": seconds,
            "trees_per_second": epochs * num_trees / sum(seconds),
            "accuracy_per_epoch": accuracy,
            "accuracy": accuracy[-1],
        }

    def _accuracy(self) -> float:
        """Of the roots of the test trees."""
        self.model.eval()
        right, minibatches = 0, list(self._minibatches(self.test))
        with torch.inference_mode():
            for minibatch in minibatches:
                plan, rows = self.model.graphs.plan(minibatch), self.roots(minibatch)
                found = self.model(plan)[rows].argmax(dim=1)
                right += int((found == plan.label[rows]).sum())
        return right / sum(minibatch.num_graphs for minibatch in minibatches)

    def _minibatches(self, examples):
        count = len(examples.graph_splits) - 1
        for first in range(0, count, self.batch):
            yield examples.minibatch(first, min(first + self.batch, count))


def sentiment(arguments) -> Program:
    """`sentiment.py`."""
    numbers: dict[str, int] = {}
    train, dev = (
        _treebank.read(pathlib.Path(arguments.sst, f"{name}.txt"), numbers)
        for name in ("train", "dev")
    )
    unknown = train.num_tokens
    dev = dataclasses.replace(dev, token=np.minimum(dev.token, unknown))
    workload = workloads.make("tree_lstm", _settings(arguments))
    model = Model(peer.Trees, workload, unknown + 1, nn.Linear(UNITS, 5), dropout=0.5)
    # Its rows go level by level from the roots.
    return Program(train, dev, model, 25, 0.001, lambda minibatch: slice(minibatch.num_graphs))


def listops(arguments) -> Program:
    """`listops.py`."""
    import cavs_tf as cavs

    tokens, unseen = len(cavs.data.LISTOPS_TOKENS), EXPRESSIONS[1]
    found = list(cavs.data.listops(sum(EXPRESSIONS), arguments.seed).as_numpy_iterator())
    workload = workloads.make("dependency_lstm", _settings(arguments))
    head = nn.Sequential(nn.Linear(UNITS, UNITS), nn.ReLU(), nn.Linear(UNITS, 10))
    model = Model(_torch_graphs.Graphs, workload, tokens, head)
    return Program(
        _expressions(found[unseen:], tokens),
        _expressions(found[:unseen], tokens),
        model,
        batch=32,
        learning_rate=0.005,
        roots=lambda minibatch: torch.from_numpy(minibatch.graph_splits[1:] - 1),
        clip=1.0,
        decay=True,
    )


PROGRAMS = {"sentiment": sentiment, "listops": listops}


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    parser = flags.parser(__doc__.partition("\n")[0])
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--epochs", type=flags.integer(1), default=4)
    parser.add_argument("--json", type=pathlib.Path, required=True, help="file for the summary")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    summary = PROGRAMS[arguments.program](arguments).run(arguments.epochs)
    arguments.json.write_text(json.dumps(summary))
    return 0


def _settings(arguments) -> workloads.Settings:
    """Those of a workload whose cell alone is used: its data are few."""
    return workloads.Settings(units=UNITS, batch=1, seed=arguments.seed, minibatches=1)


def _of_the_cell(workload) -> dict:
    return {name: workload.weights[name] for name in workload.weight_shapes()}


def _shuffled(examples: _base.Examples) -> _base.Examples:
    """The same trees in random order."""
    sizes, starts = np.diff(examples.graph_splits), examples.graph_splits[:-1]
    order = torch.randperm(len(sizes)).numpy()
    splits = np.concatenate([[0], np.cumsum(sizes[order])])
    rows = np.arange(splits[-1]) + np.repeat(starts[order] - splits[:-1], sizes[order])
    moved = {
        name: getattr(examples, name)[rows]
        for name in ("children", "token", "label", "kind")
        if getattr(examples, name) is not None
    }
    return dataclasses.replace(examples, graph_splits=splits, **moved)


def _expressions(found: list[dict], num_tokens: int) -> _base.Examples:
    """Expressions of `cavs_tf.data.listops`, from the last vertex to the root."""

    def children_first(children):
        return np.where(children < 0, -1, len(children) - 1 - children)[::-1]

    return _base.Examples(
        np.cumsum([0, *(len(example["token"]) for example in found)]),
        np.concatenate([children_first(example["children"]) for example in found]),
        np.concatenate([example["token"][::-1] for example in found]),
        np.concatenate([example["vertex_label"][::-1] for example in found]),
        num_tokens,
        np.zeros(sum(len(example["token"]) for example in found), np.int32),
    )


if __name__ == "__main__":
    sys.exit(main())

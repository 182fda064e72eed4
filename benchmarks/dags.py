"""Attention over the predecessors of random DAGs, in both directions: ours and PyTorch.

    python -m benchmarks.dags --units=64,256 --threads=2

A DAG neural network of two layers, forward and reversed (Thost and Chen 2021, arXiv:2101.07965),
on 32 DAGs of 20 to 200 vertices with 1 to 10 predecessors each: a training step of
`cavs_tf.keras.DAGNN`, and of PyTorch batched by levels with segment operators by hand, in turns;
losses and gradients are compared first.
"""

import itertools
import sys
import types

import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from benchmarks import contest, tables

GRAPHS, LAYERS, MOST = 32, 2, 10
DIRECTIONS = ("forward", "reversed")


def random_dags(generator, count=GRAPHS) -> cavs.GraphBatch:
    """DAGs whose edges lead from each vertex but the first to 1 to 10 of the 20 before it."""
    children = []
    for _ in range(count):
        dag = [[]]
        for vertex in range(1, generator.integers(20, 201)):
            near = np.arange(max(0, vertex - 20), vertex)
            chosen = generator.choice(near, min(len(near), generator.integers(1, MOST + 1)), False)
            dag.append(sorted(map(int, chosen)))
        children.append(dag)
    return cavs.GraphBatch.from_children(children)


class Ours:
    """Four layers of `cavs_tf.keras`; the loss is the mean square of all of their last outputs."""

    name = "cavs_tf"
    packages = ()

    def __init__(self, graphs, inputs, units, threads):
        del threads
        self._inputs = tf.constant(inputs)
        self._graphs = {
            "forward": graphs.with_schedule(edges=True),
            "reversed": graphs.reverse().with_schedule(edges=True),
        }
        layer = lambda: cavs.keras.DAGNN(units, return_vertices=True)  # noqa: E731
        self._layers = {d: [layer() for _ in range(LAYERS)] for d in DIRECTIONS}
        self._loss()  # Makes the weights.
        self._variables = [
            v.value for d in DIRECTIONS for one in self._layers[d] for v in one.trainable_variables
        ]
        self._step = tf.function(self._gradients)

    def weights(self) -> list:
        """By direction, layer and weight."""
        return [[one.get_weights() for one in self._layers[d]] for d in DIRECTIONS]

    def _loss(self):
        last = []
        for direction in DIRECTIONS:
            h = self._inputs
            for layer in self._layers[direction]:
                h = layer(self._graphs[direction], h)
            last.append(h)
        return tf.reduce_mean(tf.square(tf.concat(last, axis=1)))

    def _gradients(self):
        with tf.GradientTape() as tape:
            loss = self._loss()
        return loss, tape.gradient(loss, self._variables)

    def step(self):
        loss, gradients = self._step()
        return float(loss), gradients


class Torch:
    """Autograd over levels: a row for each edge, and sums by `index_add`."""

    name = "PyTorch by levels"
    packages = ("torch",)

    def __init__(self, graphs, inputs, units, threads):
        import torch

        torch.set_num_threads(threads)
        self._torch, self._units = torch, units
        self._inputs = torch.tensor(inputs)
        self._levels = [_levels(graphs, torch), _levels(graphs.reverse(), torch)]

    def take(self, weights):
        make = lambda w: self._torch.tensor(w, requires_grad=True)  # noqa: E731
        self._weights = [[list(map(make, one)) for one in layers] for layers in weights]

    def step(self):
        torch, last = self._torch, []
        for levels, layers in zip(self._levels, self._weights, strict=True):
            h = self._inputs
            for weights in layers:
                h = self._layer(levels, weights, h)
            last.append(h)
        loss = torch.cat(last, dim=1).square().mean()
        flat = [w for layers in self._weights for one in layers for w in one]
        return float(loss.detach()), [g.numpy() for g in torch.autograd.grad(loss, flat)]

    def _layer(self, levels, weights, x):
        torch, units = self._torch, self._units
        query, key, kernel, recurrent_kernel, bias = weights
        own, of_input = x @ query, torch.addmm(bias[0], x, kernel)
        states = []
        live = torch.zeros(0, units)  # The states that a later level reads.
        for level in levels.levels:
            vertices, parents = level.vertices, level.parents
            if len(parents):
                h = live.index_select(0, level.children)
                score = own.index_select(0, vertices).index_select(0, parents) + h @ key
                largest = torch.full([len(vertices), 1], -torch.inf).scatter_reduce(
                    0, parents[:, None], score.detach(), "amax"
                )
                power = (score - largest.index_select(0, parents)).exp()
                total = torch.zeros(len(vertices), 1).index_add(0, parents, power)
                share = power / total.index_select(0, parents)
                message = torch.zeros(len(vertices), units).index_add(0, parents, share * h)
            else:
                message = torch.zeros(len(vertices), units)
            of_z, of_r, of_n = torch.addmm(bias[1], message, recurrent_kernel).chunk(3, dim=1)
            z, r, n = of_input.index_select(0, vertices).chunk(3, dim=1)
            z, r = torch.sigmoid(z + of_z), torch.sigmoid(r + of_r)
            n = torch.tanh(n + r * of_n)
            states.append(n + z * (message - n))
            live = torch.cat([states[-1], live.index_select(0, level.keep)])
        return torch.cat(states).index_select(0, levels.row)


def _levels(graphs, torch):
    """For each depth its vertices; of their edges, the parents there and the children among what is
    live; and what of that stays live."""
    splits, ids = graphs.child_splits.numpy(), graphs.child_ids.numpy()
    schedule = graphs.schedule(edges=True)
    order, tasks = schedule.order.numpy(), schedule.task_splits.numpy()
    bounds = list(itertools.pairwise(tasks))
    level_of = np.zeros(graphs.num_vertices, np.int64)
    for number, (first, end) in enumerate(bounds):
        level_of[order[first:end]] = number
    read_until = np.full(graphs.num_vertices, -1)
    np.maximum.at(read_until, ids, level_of[np.repeat(np.arange(len(splits) - 1), np.diff(splits))])

    def indices(values):
        return torch.from_numpy(np.asarray(values, np.int64))

    levels, live = [], np.zeros(0, np.int64)
    for number, (first, end) in enumerate(bounds):
        vertices = order[first:end]
        place = np.full(graphs.num_vertices, -1)
        place[live] = np.arange(len(live))
        children = np.concatenate([ids[splits[v] : splits[v + 1]] for v in vertices])
        kept = np.flatnonzero(read_until[live] > number)
        levels.append(
            types.SimpleNamespace(
                vertices=indices(vertices),
                parents=indices(np.repeat(np.arange(len(vertices)), np.diff(splits)[vertices])),
                children=indices(place[children]),
                keep=indices(kept),
            )
        )
        live = np.concatenate([vertices, live[kept]])
    return types.SimpleNamespace(levels=levels, row=indices(np.argsort(order)))


SYSTEMS = (Ours, Torch)


def milliseconds(units, turns, threads, seed=0) -> dict[str, list[float]]:
    """The milliseconds of a training step of each system that is installed.

    Raises:
      AssertionError: If losses or gradients differ.
    """
    generator = np.random.default_rng(seed)
    graphs = random_dags(generator)
    inputs = generator.normal(size=(graphs.num_vertices, units)).astype("float32")
    made = [
        make(graphs, inputs, units, threads)
        for make in SYSTEMS
        if contest.installed(make.name, *make.packages)
    ]
    weights = made[0].weights()
    for other in made[1:]:
        other.take(weights)
    # The gradient of the queries is zero: attention ignores what all children have in common.
    results = (system.step() for system in made)
    contest.compare(*results, tolerance=1e-2, floor=1e-4, zeros=True)
    return contest.milliseconds({system.name: system.step for system in made}, turns)


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = contest.parser(__doc__, turns=20).parse_args(argv)
    contest.limit_threads(arguments.threads)
    rows = {
        f"{units} units": contest.texts(
            milliseconds(units, arguments.turns, arguments.threads, arguments.seed), "ratio"
        )
        for units in arguments.units
    }
    columns = [*(system.name for system in SYSTEMS), "ratio"]
    tables.Table(f"{GRAPHS} DAGs, {LAYERS} layers in each direction", columns, rows).print()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The gain of budgets and buckets of `cavs_tf.data.batch`: examples per second, and memory.

    python -m benchmarks.minibatches --units=128 --batch=64 --sst=<folder>

Trains a Tree-LSTM on the treebank (without --sst on ListOps) and an LSTM on chains of 1 to 1,000
vertices, whole epochs with the input pipeline, each way in a process of its own.
"""

import argparse
import dataclasses
import pathlib
import resource
import sys
import time

from benchmarks import apart, flags, harness, tables

EPOCHS = 3  # The fastest one counts, since others may use the machine.
LONGEST = 1000


@dataclasses.dataclass(frozen=True)
class Run:
    """A row of a table."""

    data: str
    way: str
    units: int
    batch: int
    examples: int
    seed: int
    sst: str | None


@dataclasses.dataclass(frozen=True)
class Result:
    per_second: float
    steps: int
    most_vertices: int  # In one minibatch.
    tasks: int  # In an epoch.
    megabytes: float  # The growth of the process.


def ways(batch: int, mean_size: float) -> dict[str, dict]:
    """Options of `data.batch` with about `batch` examples in a minibatch, by name."""
    budget = round(batch * mean_size)
    return {
        "examples": {"batch_size": batch},
        "vertices": {"max_vertices": budget},
        "examples, by size": {"batch_size": batch, "bucket_by": "size"},
        "examples, by depth": {"batch_size": batch, "bucket_by": "depth"},
        "vertices, by size": {"max_vertices": budget, "bucket_by": "size"},
        "vertices, by depth": {"max_vertices": budget, "bucket_by": "depth"},
    }


WAYS = tuple(ways(1, 1))


def measure(run: Run) -> Result:
    """Trains for some epochs."""
    import keras
    import numpy as np
    import tensorflow as tf

    import cavs_tf as cavs

    keras.utils.set_random_seed(run.seed)
    dataset, arity, words = _chains(run) if run.data == "chains" else _trees(run)
    sizes = [len(example["token"]) for example in dataset.as_numpy_iterator()]
    options = ways(run.batch, float(np.mean(sizes)))[run.way]
    if "max_vertices" in options:
        options["max_vertices"] = max(options["max_vertices"], max(sizes))
    examples = dataset.shuffle(len(sizes), seed=run.seed)
    batches = cavs.data.batch(examples, **options, arity=arity)

    embed = keras.layers.Embedding(words, run.units)
    layer, classify = cavs.keras.TreeLSTM(run.units, arity), keras.layers.Dense(10)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.SGD(0.01)

    @tf.function(input_signature=[batches.element_spec])
    def step(batch):
        with tf.GradientTape() as tape:
            logits = classify(layer(batch["graphs"], embed(batch["token"])))
            loss = loss_of(batch["label"], logits)
        weights = [w for part in (embed, layer, classify) for w in part.trainable_variables]
        optimizer.apply(tape.gradient(loss, weights), weights)
        graphs = batch["graphs"]
        return graphs.num_vertices, graphs.attached_schedule.num_tasks

    before, seconds = _resident(), []
    for _ in range(EPOCHS):
        start = time.perf_counter()
        counts = [step(batch) for batch in batches]
        vertices, tasks = np.array([[int(n) for n in count] for count in counts]).T
        seconds.append(time.perf_counter() - start)
    return Result(
        len(sizes) / min(seconds),
        len(counts),
        int(vertices.max()),
        int(tasks.sum()),
        (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before) / 1e6,
    )


def _resident() -> int:
    """The resident memory of this process in bytes."""
    pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def _trees(run: Run):
    """The examples, their arity, and the number of words."""
    import cavs_tf as cavs

    if run.sst is None:
        trees = cavs.data.listops(run.examples or 8544, run.seed)
        return trees, 5, len(cavs.data.LISTOPS_TOKENS)
    path = pathlib.Path(run.sst, "train.txt")
    vocabulary = cavs.data.ptb_vocabulary(path)
    trees = cavs.data.ptb_trees(path, vocabulary)
    return trees.take(run.examples or -1), 2, len(vocabulary)


def _chains(run: Run):
    import numpy as np

    import cavs_tf as cavs

    random = np.random.default_rng(run.seed)
    lengths = random.integers(1, LONGEST + 1, run.examples or 1024)
    splits = np.concatenate([[0], np.cumsum(lengths)])
    position = np.arange(splits[-1]) - np.repeat(splits[:-1], lengths)
    features = {
        "children": (position - 1)[:, None].astype(np.int32),
        "token": random.integers(0, 1000, splits[-1], np.int32),
    }
    label = random.integers(0, 5, len(lengths))
    return cavs.data.from_arrays(splits, features, {"label": label}), 1, 1000


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = _parser().parse_args(argv)
    harness.refuse_debug_build()
    for data in arguments.data:
        sizes = (arguments.units, arguments.batch, arguments.examples)
        sizes += (arguments.seed, arguments.sst)
        best = {}
        for way in WAYS * arguments.rounds:
            # Resident memory is that of a whole process.
            result = apart.call(arguments.threads, measure, Run(data, way, *sizes))
            best[way] = max(result, best.get(way, result), key=lambda r: r.per_second)
        rows = {
            way: {
                "examples/s": f"{result.per_second:,.0f}",
                "steps": f"{result.steps:,}",
                "most vertices": f"{result.most_vertices:,}",
                "tasks": f"{result.tasks:,}",
                "MB": f"{result.megabytes:,.0f}",
            }
            for way, result in best.items()
        }
        columns = list(next(iter(rows.values())))
        print(f"{data} h={arguments.units} batch {arguments.batch}\n")
        tables.Table("minibatches of", columns, rows).print()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = flags.parser(__doc__.partition("\n")[0])
    parser.add_argument("--data", type=flags.choices(["trees", "chains"]), default="trees,chains")
    parser.add_argument("--units", type=flags.integer(1), default=128, help="h")
    parser.add_argument("--batch", type=flags.integer(1), default=64, help="examples, about")
    parser.add_argument("--examples", type=flags.integer(1), help="that are trained on; none: all")
    parser.add_argument("--rounds", type=flags.integer(1), default=3, help="turns of every way")
    return parser


if __name__ == "__main__":
    sys.exit(main())

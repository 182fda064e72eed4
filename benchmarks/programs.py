"""Whole programs: an epoch of `python/examples/sentiment.py`, and of the same model in PyTorch.

    python -m benchmarks.programs --sst=<folder> --threads=2

PyTorch's program is one that its users would write: minibatches in random order, planned level by
level while it trains, `nn.Embedding`, `nn.Dropout`, autograd and `torch.optim.Adam`. It runs the
cell of the workload `tree_lstm`, the child-sum Tree-LSTM of the example. Both take turns, in
processes of their own; the first epoch, which also compiles, does not count.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks import flags, tables, workloads

EXAMPLE = pathlib.Path(__file__).parent.parent / "python" / "examples" / "sentiment.py"
UNITS, BATCH, DROPOUT, LEARNING_RATE = 128, 25, 0.5, 0.001  # Those of the example.
TREES = 8544  # Of the treebank, for training.


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    parser = flags.parser(__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=flags.integer(2), default=4, help="of each turn")
    parser.add_argument("--repeats", type=flags.integer(1), default=2, help="turns")
    parser.add_argument("--one", choices=PROGRAMS, help="runs this one, and prints seconds as JSON")
    arguments = parser.parse_args(argv)
    if not arguments.sst:
        print("--sst: expected the folder of the Stanford Sentiment Treebank", file=sys.stderr)
        return 2
    if arguments.one:
        print(json.dumps(PROGRAMS[arguments.one](arguments)))
        return 0
    seconds = {name: [] for name in PROGRAMS}
    for _ in range(arguments.repeats):
        for name, found in seconds.items():
            found += _in_a_process(name, arguments)[1:]
    rows = {
        name: {
            "s an epoch": f"{statistics.median(found):.2f}",
            "trees/s": f"{TREES / statistics.median(found):,.0f}",
        }
        for name, found in seconds.items()
    }
    tables.Table("program", ["s an epoch", "trees/s"], rows).print()
    return 0


def _in_a_process(name: str, arguments) -> list[float]:
    names = ("sst", "threads", "epochs", "seed")
    passed = [f"--{key}={getattr(arguments, key)}" for key in names]
    command = [sys.executable, "-m", "benchmarks.programs", f"--one={name}", *passed]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def cavs_tf(arguments) -> list[float]:
    """Seconds of each epoch of the example."""
    with tempfile.TemporaryDirectory() as folder:
        summary = pathlib.Path(folder, "summary.json")
        command = [sys.executable, EXAMPLE, f"--data={arguments.sst}", f"--json={summary}"]
        command += [f"--epochs={arguments.epochs}", f"--seed={arguments.seed}"]
        threads = str(arguments.threads)
        limits = {"TF_NUM_INTRAOP_THREADS": threads, "TF_NUM_INTEROP_THREADS": threads}
        subprocess.run(
            command, env=os.environ | limits, stdout=subprocess.DEVNULL, check=True, timeout=3600
        )
        return json.loads(summary.read_text())["seconds_per_epoch"]


def pytorch(arguments) -> list[float]:
    """Seconds of each epoch of the program in PyTorch."""
    import torch
    from torch import nn

    from benchmarks.peers import torch as peer

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    settings = workloads.Settings(
        units=UNITS, batch=BATCH, sst=arguments.sst, minibatches=-(-TREES // BATCH)
    )
    workload = workloads.make("tree_lstm", settings)
    cell = peer.Trees(workload)
    weights = {n: torch.from_numpy(w.copy()) for n, w in workload.weights.items()}
    trained = cell.take(weights)
    table = nn.Embedding.from_pretrained(weights["embedding"], freeze=False)
    optimizer = torch.optim.Adam([*table.parameters(), *trained.values()], LEARNING_RATE)
    drop, seconds = nn.Dropout(DROPOUT), []
    for _ in range(arguments.epochs):
        started = time.perf_counter()
        for index in torch.randperm(len(workload.minibatches)):
            plan = cell.plan(workload.minibatches[index])
            h = cell.run(plan, drop(table(plan.token)))
            logits = torch.addmm(weights["output_bias"], drop(h), weights["output"])
            loss = nn.functional.cross_entropy(logits, plan.label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        seconds.append(time.perf_counter() - started)
    return seconds


PROGRAMS = {"cavs_tf": cavs_tf, "pytorch": pytorch}

if __name__ == "__main__":
    sys.exit(main())

"""Times PyTorch's versions of the Tree-LSTM on a GPU, for tools/on_device.sh.

Prints one row of JSON for each: by levels with autograd, and by levels with a backward pass by
hand. Both are compared with the definition first. A step is the loss and all gradients, without
the update of weights; the GPU is waited for at the end of a turn only. The table says which of
them also computes what: the two ops that `cuda_bench` times have neither a loss nor an embedding.

With --length, cuDNN's LSTM takes the Tree-LSTM's place; with --rows, a product by cuBLAS of so
many rows, with units x 4 units: each in float32 and in TF32, which both others leave off.
--device=cpu tries all of it without a GPU.
"""

import argparse
import json
import statistics
import sys
import time

import torch

from benchmarks import checks, workloads
from benchmarks.peers import torch as by_levels
from benchmarks.peers import torch_by_hand

_TURNS = 5


def _place_on(device):
    """Lets the peers, which know no devices, make all of their tensors there."""
    from_numpy = torch.from_numpy
    torch.set_default_device(device)
    torch.from_numpy = lambda array: from_numpy(array).to(device)


def _seconds(step, flags) -> list[float]:
    wait = torch.cuda.synchronize if flags.device == "cuda" else lambda: None
    for _ in range(5):
        step()
    wait()
    seconds = []
    for _ in range(_TURNS):
        begin = time.perf_counter()
        for _ in range(flags.steps):
            step()
        wait()
        seconds.append((time.perf_counter() - begin) / flags.steps)
    return seconds


def _row(system, flags, seconds, **more):
    middle = statistics.median(seconds)
    row = {
        "system": system,
        "device": torch.cuda.get_device_name() if flags.device == "cuda" else flags.device,
        "units": flags.units,
        "batch": flags.batch,
        **more,
        "step_ms": round(middle * 1e3, 4),
        "spread": round(max(seconds) / min(seconds) - 1, 2),
    }
    return row, middle


def _in_both_precisions(system, flags, step, **more):
    for tf32 in (False, True):
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
        row, seconds = _row(system, flags, _seconds(step, flags), tf32=int(tf32), **more)
        if flags.rows:
            gflop = 8e-9 * flags.rows * flags.units**2
            row["tflops"] = round(gflop / seconds / 1e3, 1)
        print(json.dumps(row), flush=True)


def _lstm(flags):
    layer = torch.nn.LSTM(flags.units, flags.units)
    x = torch.randn(flags.length, flags.batch, flags.units, requires_grad=True)
    grad = torch.randn(flags.length, flags.batch, flags.units)

    def step():
        torch.autograd.grad(layer(x)[0], [x, *layer.parameters()], grad)

    _in_both_precisions("cudnn_lstm", flags, step, length=flags.length)


def _product(flags):
    x, w = torch.randn(flags.rows, flags.units), torch.randn(flags.units, 4 * flags.units)
    _in_both_precisions("cublas", flags, lambda: x @ w, rows=flags.rows)


def _tree_lstm(flags):
    settings = workloads.Settings(
        units=flags.units, batch=flags.batch, sst=flags.sst or None, minibatches=1
    )
    workload = workloads.make("tree_lstm", settings)
    checker = checks.Checker(workload, "training")
    for name, module in (("torch", by_levels), ("torch_by_hand", torch_by_hand)):
        peer = module.Peer(workload, 1)
        loss, _ = peer.differentiate(peer.plans[0])
        if wrong := checker.complaint(name, [float(loss)], peer.gradients()):
            sys.exit(f"{name}: {wrong}")
        seconds = _seconds(lambda peer=peer: peer.differentiate(peer.plans[0]), flags)
        row, middle = _row(name, flags, seconds)
        print(json.dumps({**row, "trees_per_s": round(flags.batch / middle)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument(
        "--sst", default="", help="the treebank, or a file of it; empty: data from a seed"
    )
    parser.add_argument("--length", type=int, default=0, help="of the sequences of an LSTM")
    parser.add_argument("--rows", type=int, default=0, help="of a product")
    parser.add_argument("--steps", type=int, default=20, help="of each turn")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    flags = parser.parse_args()
    _place_on(flags.device)
    run = _lstm if flags.length else _product if flags.rows else _tree_lstm
    run(flags)


if __name__ == "__main__":
    main()

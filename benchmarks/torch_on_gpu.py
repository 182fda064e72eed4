"""Times PyTorch's versions of the Tree-LSTM on a GPU, for tools/on_device.sh.

Prints one row of JSON for each: by levels with autograd, and by levels with a backward pass by
hand. A step is the loss and all gradients, without the update of weights; the GPU is waited for
at the end of a turn only. The table says which of them also computes what: the two ops that
`cuda_bench` times have neither a loss nor an embedding.
"""

import argparse
import json
import statistics
import time

import torch

from benchmarks import workloads
from benchmarks.peers import torch as by_levels
from benchmarks.peers import torch_by_hand

_STEPS, _TURNS = 20, 5


def _place_on_gpu():
    """Lets the peers, which know no devices, make all of their tensors on the GPU."""
    from_numpy = torch.from_numpy
    torch.set_default_device("cuda")
    torch.from_numpy = lambda array: from_numpy(array).cuda()


def _seconds(step) -> list[float]:
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    seconds = []
    for _ in range(_TURNS):
        begin = time.perf_counter()
        for _ in range(_STEPS):
            step()
        torch.cuda.synchronize()
        seconds.append((time.perf_counter() - begin) / _STEPS)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--sst", default="", help="the treebank's folder; empty: data from a seed")
    flags = parser.parse_args()
    _place_on_gpu()
    settings = workloads.Settings(
        units=flags.units, batch=flags.batch, sst=flags.sst or None, minibatches=1
    )
    workload = workloads.make("tree_lstm", settings)
    for name, module in (("torch", by_levels), ("torch_by_hand", torch_by_hand)):
        peer = module.Peer(workload, 1)
        seconds = _seconds(lambda peer=peer: peer.differentiate(peer.plans[0]))
        middle = statistics.median(seconds)
        row = {
            "system": name,
            "device": torch.cuda.get_device_name(),
            "units": flags.units,
            "batch": flags.batch,
            "step_ms": round(middle * 1e3, 4),
            "spread": round(max(seconds) / min(seconds) - 1, 2),
            "trees_per_s": round(flags.batch / middle),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()

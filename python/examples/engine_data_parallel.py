"""Trains a two-layer network on two devices: the copies hide behind the backward pass.

    python python/examples/engine_data_parallel.py --trace=trace.json

A device is a stream that computes with NumPy; a third stream copies between devices and
updates the weights. The program is written serially and says of every line what it reads and
mutates. The engine does the rest, and the weights come out the same, bit by bit.
"""

import argparse
import os
import pathlib

# One thread per device, and products that are the same however many run at a time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from cavs_tf.engine import Engine, Trace
from cavs_tf.plot import timeline

DEVICES = 2
COPIES = DEVICES  # The number of the stream that copies and updates.
LEARNING_RATE = 0.01


class Network:
    """fc1, relu, fc2 and a squared loss, on each of two devices; the master weights beside them.

    Args:
      call: `call(fn, read, mutate, stream, name)` runs a line of the program, or pushes it.
      variable: `variable(name)` makes what `read` and `mutate` are lists of.
    """

    def __init__(self, call, variable, inputs, hidden, outputs, seed):
        random = np.random.default_rng(seed)
        self.call = call
        self.shapes = {"fc1": (inputs, hidden), "fc2": (hidden, outputs)}
        self.weight = {
            name: random.normal(scale=shape[0] ** -0.5, size=shape).astype(np.float32)
            for name, shape in self.shapes.items()
        }
        self.master = {name: variable(f"{name}_weight[cpu]") for name in self.shapes}
        self.received = {
            name: [np.empty(shape, np.float32) for _ in range(DEVICES)]
            for name, shape in self.shapes.items()
        }
        self.devices = [
            {name: value.copy() for name, value in self.weight.items()} for _ in range(DEVICES)
        ]
        names = ["data", "fc1", "fc2", "fc1_act", "out", "fc2_ograd", "fc1_ograd"]
        names += ["fc1_wgrad", "fc2_wgrad", "fc1_recv", "fc2_recv"]
        self.tags = [{name: variable(f"{name}[{d}]") for name in names} for d in range(DEVICES)]

    def step(self, data, target):
        """One minibatch, written as if nothing overlapped."""
        half = len(data) // DEVICES
        for d in range(DEVICES):
            rows = slice(d * half, (d + 1) * half)
            self._forward(d, data[rows])
            self._backward(d, target[rows])
        # The layer whose gradients come first is the one whose copies are not waited for.
        for layer in ("fc2", "fc1"):
            for d in range(DEVICES):
                self._send_gradient(d, layer)
            self._update(layer)
            for d in range(DEVICES):
                self._send_weight(d, layer)

    def _forward(self, d, data):
        here, tag = self.devices[d], self.tags[d]

        def load():
            here["data"] = data

        def fc1():
            here["fc1_act"] = np.maximum(here["data"] @ here["fc1"], 0)

        def fc2():
            here["out"] = here["fc1_act"] @ here["fc2"]

        self.call(load, [], [tag["data"]], COPIES, f"copy data to {d}")
        self.call(fc1, [tag["data"], tag["fc1"]], [tag["fc1_act"]], d, "forward fc1")
        self.call(fc2, [tag["fc1_act"], tag["fc2"]], [tag["out"]], d, "forward fc2")

    def _backward(self, d, target):
        here, tag = self.devices[d], self.tags[d]

        def loss():
            here["fc2_ograd"] = (here["out"] - target) / len(target)

        def fc2():
            here["fc2_wgrad"] = here["fc1_act"].T @ here["fc2_ograd"]
            here["fc1_ograd"] = (here["fc2_ograd"] @ here["fc2"].T) * (here["fc1_act"] > 0)

        def fc1():
            here["fc1_wgrad"] = here["data"].T @ here["fc1_ograd"]

        reads = [tag["fc1_act"], tag["fc2_ograd"], tag["fc2"]]
        self.call(loss, [tag["out"]], [tag["fc2_ograd"]], d, "loss")
        self.call(fc2, reads, [tag["fc2_wgrad"], tag["fc1_ograd"]], d, "backward fc2")
        self.call(fc1, [tag["data"], tag["fc1_ograd"]], [tag["fc1_wgrad"]], d, "backward fc1")

    def _send_gradient(self, d, layer):
        def copy():
            np.copyto(self.received[layer][d], self.devices[d][f"{layer}_wgrad"])

        tag = self.tags[d]
        reads, mutates = [tag[f"{layer}_wgrad"]], [tag[f"{layer}_recv"]]
        self.call(copy, reads, mutates, COPIES, f"copy {layer} gradient")

    def _update(self, layer):
        def update():
            total = sum(self.received[layer][1:], self.received[layer][0])
            self.weight[layer] -= LEARNING_RATE * total

        reads = [tag[f"{layer}_recv"] for tag in self.tags]
        self.call(update, reads, [self.master[layer]], COPIES, f"update {layer}")

    def _send_weight(self, d, layer):
        def copy():
            np.copyto(self.devices[d][layer], self.weight[layer])

        reads, mutates = [self.master[layer]], [self.tags[d][layer]]
        self.call(copy, reads, mutates, COPIES, f"copy {layer} weight")


def minibatches(steps, rows, inputs, outputs):
    random = np.random.default_rng(0)
    teacher = random.normal(size=(inputs, outputs)).astype(np.float32)
    for _ in range(steps):
        data = random.normal(size=(rows, inputs)).astype(np.float32)
        yield data, np.tanh(data @ teacher)


def train_serially(steps, rows, sizes):
    network = Network(lambda fn, *rest: fn(), str, *sizes, seed=1)
    for data, target in minibatches(steps, rows, sizes[0], sizes[2]):
        network.step(data, target)
    return network.weight


def train(steps, rows, sizes, policy="streams") -> tuple[dict, Trace]:
    with Engine(policy, DEVICES + 1) as engine:

        def call(fn, read, mutate, stream, name):
            engine.push(fn, read, mutate, stream=stream, name=name)

        network = Network(call, engine.new_variable, *sizes, seed=1)
        batches = list(minibatches(steps, rows, sizes[0], sizes[2]))
        engine.start_trace()
        for data, target in batches:
            network.step(data, target)
        engine.wait_all()
        return network.weight, engine.stop_trace()


def copies_that_overlap(trace: Trace) -> int:
    """How many copies of a gradient began before the backward pass of their step had ended."""
    events = sorted(trace.events, key=lambda event: event.sequence)
    ends = [event.ended for event in events if event.name == "backward fc1"]
    step_ends = [max(ends[i : i + DEVICES]) for i in range(0, len(ends), DEVICES)]
    copies = [event for event in events if event.name == "copy fc2 gradient"]
    return sum(copy.began < step_ends[i // DEVICES] for i, copy in enumerate(copies))


def save_picture(trace: Trace, path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        timeline(trace, path)
        print(f"Picture: {path}")
    except ImportError as error:
        print(f"No picture: {error}")


def main(arguments=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--sizes", type=int, nargs=3, default=[1024, 1024, 512])
    parser.add_argument("--picture", default="artifacts/engine_data_parallel.png")
    parser.add_argument("--trace", help="where to save the trace, for ui.perfetto.dev")
    options = parser.parse_args(arguments)
    size = options.steps, options.rows, options.sizes

    weights = train_serially(*size)
    parallel, trace = train(*size)
    for name, weight in weights.items():
        assert np.array_equal(weight, parallel[name]), f"{name} differs"
    print(f"{options.steps} steps on {DEVICES} devices: the weights of the serial program, bitwise")

    early = copies_that_overlap(trace)
    assert early > 0, "no copy of a gradient began before the backward pass had ended"
    overlap = trace.overlap("copy fc2 gradient", "backward fc1")
    print(f"{early} of {options.steps * DEVICES} copies of the gradient of fc2 began before the")
    print(f"backward pass had ended; they ran beside that of fc1 for {overlap * 1e3:.2f} ms")
    save_picture(trace, pathlib.Path(options.picture))
    if options.trace:
        trace.save(options.trace)


if __name__ == "__main__":
    main()

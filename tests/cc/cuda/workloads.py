"""Counts what training steps ask of the emulated driver: workloads of the benchmarks, and layers.

    python -m tests.cc.cuda.workloads

The counts are the same every time, and have to be those of `workloads.json`. Where a change is
meant to change them, CAVS_UPDATE_GOLDEN=1 writes them there.
"""

import collections
import json
import os
import pathlib
import sys
import tempfile

from tests.accelerator import runner

GOLDEN = pathlib.Path(__file__).with_suffix(".json")


def summed(found):
    """Returns the counts of a step, over all calls of an op, by workload and op that is called."""
    totals = {}
    for workload, ops in found.items():
        totals[workload] = {op: collections.Counter() for op in ops}
        for op, calls in ops.items():
            for call in calls:
                totals[workload][op].update(call)
    called = {
        name: {op: dict(sum_) for op, sum_ in ops.items() if sum_} for name, ops in totals.items()
    }
    return {name: ops for name, ops in called.items() if ops}


def main():
    with tempfile.TemporaryDirectory() as folder:
        counts = runner.on_gpu("counted_steps", pathlib.Path(folder))
    found = {part: summed(steps) for part, steps in counts.items()}
    if os.environ.get("CAVS_UPDATE_GOLDEN") == "1":
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
    known = json.loads(GOLDEN.read_text())
    different = [
        f"{part}, {name}: got {found[part].get(name)} but expected {known[part].get(name)}"
        for part in known
        for name in sorted({*found[part], *known[part]})
        if found[part].get(name) != known[part].get(name)
    ]
    print("\n".join(different), end="\n" if different else "")
    steps = [
        {field: sum(op[field] for op in ops.values()) for field in ("launches", "host_waits")}
        for ops in {**found["steps"], **found["steps of layers"]}.values()
    ]
    print(
        f"A step of each of {len(steps)} workloads and layers, under TensorFlow: "
        f"{min(step['launches'] for step in steps)} to {max(step['launches'] for step in steps)} "
        f"launches; the host waits {max(step['host_waits'] for step in steps)} times at most"
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

"""Says how a model runs."""

import collections
import json

import numpy as np

from cavs_tf._library import ops
from cavs_tf.options import PASSES

_STAGES = {
    "prologue": "once, before the first task: no vertex is involved",
    "eager": "over all vertices before the first task: depends on no gathered state",
    "critical": "task by task: on a path from gather to scatter",
    "lazy": "over all vertices after the last task: no scattered state depends on it",
    "epilogue": "once, after the last task: needs finished sums over vertices",
}


def explain(model, graphs=None, inputs=None) -> str:
    """The text of `GraphSupport.explain`."""
    if inputs is not None or model.last_functions() is None:
        pulls, _ = model.prepare(graphs, inputs)
        functions = model.functions_for(pulls)
    else:
        functions = model.last_functions()
    lines, tape_bytes = [], []
    for title, pairs in (("F", functions.forward), ("dF", functions.backward)):
        if not pairs:
            lines += [f"{title}: none. {functions.gradient_error}", ""]
            continue
        for traced, program in zip(functions.traced, _describe(model, pairs), strict=True):
            lines += [f"{title} of {traced.name}", *_operators(program["nodes"]), ""]
            if title == "F":
                tape_bytes.append(program["tape_bytes_per_row"])
    if graphs is not None:
        lines += _tasks(model, graphs, tape_bytes)
    return "\n".join(lines)


def _describe(model, pairs):
    description = ops.cavs_describe(
        vertex_functions=[function for function, _ in pairs],
        vertex_signatures=[signature for _, signature in pairs],
        **{name: getattr(model.options, name) for name in PASSES},
    )
    return json.loads(description.numpy())


def _operators(nodes):
    lines = []
    for stage, meaning in _STAGES.items():
        names = collections.Counter(_label(n) for n in nodes if n["stage"] == stage)
        if names:
            shown = ", ".join(n if c == 1 else f"{c} x {n}" for n, c in names.items())
            lines.append(f"  {stage:8} ({meaning}):\n    {shown}")
    fallbacks = [f"{n['name']} ({n['op']})" for n in nodes if not n["native"]]
    lines.append(f"  by TensorFlow's own kernels: {', '.join(fallbacks) or 'none'}")
    return lines


def _label(node):
    return f"{node['kind']}({node['index']})" if node["index"] >= 0 else node["op"]


def _tasks(model, graphs, tape_bytes):
    schedule = model.schedule_of(graphs)
    sizes = np.diff(schedule.task_splits.numpy())
    types = schedule.task_type.numpy()
    if not sizes.size:
        return ["tasks: none, as there are no vertices"]
    rows = [int(sizes[types == t].sum()) for t in range(len(model.vertex_types))]
    held = sum(r * b for r, b in zip(rows, tape_bytes, strict=False))
    return [
        f"{sizes.sum()} vertices in {sizes.size} tasks; no schedule has fewer than "
        f"{schedule.min_tasks}",
        f"  vertices per task: largest {sizes.max()}, median {int(np.median(sizes))}, "
        f"smallest {sizes.min()}",
        f"  gathered rows that need no copy: {schedule.contiguous_share:.0%}",
        f"  tape: {held:,} bytes",
    ]

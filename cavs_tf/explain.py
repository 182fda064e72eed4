"""Says how a model runs."""

import collections

import numpy as np

from cavs_tf._micro_batches import describe_programs
from cavs_tf._stages import STAGES
from cavs_tf.memory import functions_of, predict_memory


def explain(model, graphs=None, inputs=None) -> str:
    """The text of `GraphSupport.explain`."""
    lines, tape_bytes = [], []
    for program in describe(model, graphs, inputs):
        if program["nodes"] is None:
            lines += [f"{program['title']}: none. {program['error']}", ""]
            continue
        lines += [program["title"], *_operators(program["nodes"]), ""]
        if program["title"].startswith("F "):
            tape_bytes.append(program["tape_bytes_per_row"])
    if graphs is not None:
        lines += _tasks(model, graphs, tape_bytes)
        lines += _choices(model, graphs)
        lines += _memory(model, graphs, inputs)
    return "\n".join(lines)


def describe(model, graphs=None, inputs=None) -> list[dict]:
    """How F and then dF of every vertex type run, as `CavsDescribe` says, with a title each.

    Instead of dF there is one whose nodes are None, with the error, if there is none.
    """
    functions = functions_of(model, graphs, inputs)
    programs = []
    for title, pairs in (("F", functions.forward), ("dF", functions.backward)):
        if not pairs:
            error = functions.gradient_error
            programs.append({"title": title, "nodes": None, "error": error})
            continue
        described = describe_programs(model.options, pairs)
        for traced, program in zip(functions.traced, described, strict=True):
            programs.append({"title": f"{title} of {traced.name}"} | program)
    return programs


def _operators(nodes):
    lines = []
    for stage, meaning in STAGES.items():
        here = [node for node in nodes if node["stage"] == stage]
        if here:
            lines += [f"  {stage:8} ({meaning}):", *_stage_lines(here)]
    fallbacks = [f"{n['name']} ({n['op']})" for n in nodes if not n["native"]]
    lines.append(f"  by TensorFlow's own kernels: {', '.join(fallbacks) or 'none'}")
    return lines


def _stage_lines(nodes):
    """Operators as they are on one line; each that a pass made of several on its own."""
    made = [n for n in nodes if n["members"] or n["merged"]]
    plain = collections.Counter(_label(n) for n in nodes if n not in made)
    shown = ", ".join(n if c == 1 else f"{c} x {n}" for n, c in plain.items())
    lines = [f"    {shown}"] if shown else []
    for title, key in (("merged", "merged"), ("fused", "members")):
        lines += [f"    {title}: {_label(n)}" for n in made if n[key]]
    return lines


def _label(node):
    return f"{node['label']} adding in place" if node["adds"] else node["label"]


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
        f"  gathered rows that need no copy: {schedule.view_share:.0%}",
        f"  tape: {held:,} bytes",
    ]


def _choices(model, graphs):
    """What "auto" stands for, and why."""
    options, lines = model.options, []
    if options.streams == "auto":
        lines.append("streams: 1 (auto: all threads share each operator)")
    if options.micro_batch == "auto" and graphs.attached_schedule is None:
        budget = model.last_functions().budget
        count = int(budget.graphs_at_a_time(graphs))
        rows = int(graphs.num_vertices)
        need = rows * (budget.kept + budget.temporaries)
        lines.append(
            f"micro-batches: of {count} of {graphs.num_graphs} graphs (auto: all at once take "
            f"about {need:,} of {budget.available:,} bytes)"
        )
    return lines


def _memory(model, graphs, inputs):
    memory = predict_memory(model, graphs, inputs)
    lines = [f"memory for inference: {memory.inference}"]
    if memory.backward is None:
        return lines
    return [
        *lines,
        f"memory for training: {memory.training:,} bytes at its peak",
        f"  forward: {memory.forward}",
        f"  backward: {memory.backward}",
    ]

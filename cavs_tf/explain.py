"""Explains how a model runs."""

import collections
import json

import numpy as np

from cavs_tf._arguments import check_bools
from cavs_tf._inputs import name_inputs
from cavs_tf._library import ops
from cavs_tf._micro_batches import available_bytes
from cavs_tf._resolve import call_of, cell_of
from cavs_tf._stages import STAGES
from cavs_tf.memory import functions_of, predict_memory
from cavs_tf.options import PASSES

# By the bits of enum Trait in cc/schedule/traits.h.
_TRAITS = (
    (1, "no vertex has a child"),
    (4, "every vertex has all children"),
    (2, "no vertex has a row of the inputs that not all have"),
)


def explain(model, graphs=None, inputs=None, program=False) -> str:
    """Prints how vertex functions run: operators by stage, fallbacks, tasks, bytes. Eager only.

    Args:
      model: A `GraphSupport`, a layer around one, such as `cavs_tf.keras.TreeLSTM`, or a Keras
        model that calls one of them once.
      graphs, inputs: What the model is called with; a functional model with one dict. Without
        inputs they are as in an earlier call; without graphs, too, tasks and memory are left
        out.
      program: Whether to print each program as well, line by line as it runs. `%3` is a value with
        a row per vertex, `@1` one that is the same for all; `{eager}` says when an operator runs;
        a group runs as one kernel. `// zero without children` and `// skipped without children`
        are what a task in which no vertex has a child need not compute. Where tasks may run
        a program of their own (see `Options.specialize`), it follows.

    Returns:
      The text that was printed.

    Raises:
      ValueError: If there is no vertex function in the model or several, or they are called
        several times.

    >>> import cavs_tf as cavs
    >>> layer = cavs.keras.TreeLSTM(units=8)
    >>> text = explain(layer, cavs.GraphBatch.chain([3, 1]), np.ones([4, 8], "float32"))
    ... # doctest: +ELLIPSIS
    F of TreeLSTMCell.vertex
    ...
    4 vertices in 3 tasks; no schedule has fewer than 3
    ...
    """
    check_bools(program=program)
    text = "\n".join(_lines(model, graphs, inputs, program))
    print(text)
    return text


def _lines(model, graphs, inputs, program) -> list[str]:
    if graphs is None:
        return _programs(cell_of(model), None, inputs, program)
    call = call_of(model, graphs, inputs)
    return [
        *_programs(call.cell, call.graphs, call.inputs, program),
        *_tasks(call),
        *_choices(call),
        *_memory(predict_memory(call.cell, call.graphs, call.inputs, call.at)),
    ]


def _programs(cell, graphs, inputs, with_text):
    lines = []
    for program in describe(cell, graphs, inputs):
        if program["nodes"] is None:
            lines += [f"{program['title']}: none. {program['error']}", ""]
            continue
        lines += [program["title"], *_operators(program["nodes"])]
        if with_text:
            lines += [f"  {line}" for line in program["program"].splitlines()]
        lines.append("")
        for variant in program["variants"] if with_text else []:
            vertices = " and ".join(text for bit, text in _TRAITS if variant["traits"] & bit)
            lines.append(f"{program['title']}, in tasks in which {vertices}")
            lines += [f"  {line}" for line in variant["program"].splitlines()]
            lines.append("")
    return lines


def describe(cell, graphs=None, inputs=None) -> list[dict]:
    """The descriptions by `CavsDescribe` of F and then dF of every vertex type, with titles.

    If there is no dF, its description has an error, and None as its nodes.
    """
    functions = functions_of(cell, graphs, inputs)
    described = _describe_programs(cell.options, functions, name_inputs(inputs))
    titles = [f"{d} of {t.name}" for d in ("F", "dF") for t in functions.traced]
    programs = [
        {"title": title} | program for title, program in zip(titles, described, strict=False)
    ]
    if not functions.backward:
        programs.append({"title": "dF", "nodes": None, "error": functions.gradient_error})
    return programs


def _describe_programs(options, functions, inputs) -> list[dict]:
    description = ops.cavs_describe(
        **functions.to_compile(inputs), **{name: getattr(options, name) for name in PASSES}
    )
    return json.loads(description.numpy())


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
    """Lines for the operators of a stage; merged and fused ones have a line of their own."""
    made = [n for n in nodes if n["members"] or n["merged"]]
    plain = collections.Counter(_label(n) for n in nodes if n not in made)
    shown = ", ".join(n if c == 1 else f"{c} x {n}" for n, c in plain.items())
    lines = [f"    {shown}"] if shown else []
    for title, key in (("merged", "merged"), ("fused", "members")):
        lines += [f"    {title}: {_label(n)}" for n in made if n[key]]
    return lines


def _label(node):
    return f"{node['label']} adding in place" if node["adds"] else node["label"]


def _tasks(call):
    schedule = call.cell._schedule_of(call.graphs, name_inputs(call.inputs), call.at)
    sizes = np.diff(schedule.task_splits.numpy())
    if not sizes.size:
        return ["tasks: none, as there are no vertices"]
    return [
        f"{sizes.sum()} vertices in {sizes.size} tasks; no schedule has fewer than "
        f"{schedule.min_tasks}",
        f"  vertices per task: largest {sizes.max()}, median {int(np.median(sizes))}, "
        f"smallest {sizes.min()}",
        f"  gathered rows that need no copy: {schedule.view_share:.0%}",
    ]


def _choices(call):
    """Lines that say how "auto" is resolved, and why."""
    cell, graphs, inputs, lines = call.cell, call.graphs, name_inputs(call.inputs), []
    options = cell.options
    if options.streams == "auto":
        lines.append("streams: 1 (auto: all threads share each operator)")
    if options.micro_batch == "auto" and graphs.attached_schedule is None:
        micro_batch, whole_bytes = cell._choose_micro_batch(graphs, inputs, call.at)
        lines.append(
            f"micro-batches: of {int(micro_batch)} of {graphs.num_graphs} graphs (auto: "
            f"to train with all at once takes {int(whole_bytes):,} of "
            f"{available_bytes(cell._last_functions()):,} bytes)"
        )
    return lines


def _memory(memory):
    lines = [f"memory for inference: {memory.inference}"]
    if memory.backward is None:
        return lines
    return [
        *lines,
        f"memory for training: {memory.training:,} bytes at its peak",
        f"  forward: {memory.forward}",
        f"  backward: {memory.backward}",
    ]

"""Explains how a model runs."""

import collections
import itertools
import os

import numpy as np

from cavs_tf._inputs.inputs import name_inputs
from cavs_tf._native.library import may_run_on_gpus
from cavs_tf._tracing.source_lines import text_of
from cavs_tf._values.arguments import check_bools
from cavs_tf.graphs._micro_batches import available_bytes
from cavs_tf.inspect._description import TRAITS, describe, names_of
from cavs_tf.inspect._memory import predict_step
from cavs_tf.inspect._resolve import call_of, cell_of
from cavs_tf.inspect._stages import STAGES

_WIDTH = 46  # The largest width of operators with their lines beside them, and of a line's text.
_MOST_LINES = 12  # The largest number of lines about tasks.


class Explanation(str):
    """The text of `explain`: a notebook or Python's prompt shows it, and `print` prints it."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def explain(model, graphs=None, inputs=None, program=False) -> Explanation:
    """Says how vertex functions run: operators by stage, fallbacks, tasks, bytes. Eager only.

    It describes the device on which a call in this place would run, as `tf.device` says.

    Args:
      model: A `GraphSupport`, a layer around one, such as `cavs_tf.keras.TreeLSTM`, or a Keras
        model that calls one of them once.
      graphs, inputs: The arguments of the model; a functional model takes one dict. Without inputs
        they are as in an earlier call; without graphs, tasks and memory are left out.
      program: Whether to show each program as well, line by line as it runs. `%3` is a value with
        a row per vertex, `@1` one that is the same for all; `{eager}` says when an operator runs;
        a group runs as one kernel. `// zero without children` and `// skipped without children`
        mark values that a task need not compute if none of its vertices has a child. Programs for
        such tasks (see "specialize" in `Options`) follow.

    Returns:
      The text. A notebook and Python's prompt show it; in a program, `print` it. Each operator has
      the Keras layer and the line of the vertex function that it comes from next to it.

    Raises:
      ValueError: If there is no vertex function in the model or several, or they are called
        several times.

    >>> import cavs_tf as cavs
    >>> layer = cavs.keras.TreeLSTM(units=8)
    >>> explain(layer, cavs.GraphBatch.chain([3, 1]), np.ones([4, 8], "float32"))
    ... # doctest: +ELLIPSIS
    F of TreeLSTMCell.vertex
    ...
    4 vertices in 3 tasks; no schedule has fewer than 3
    ...
    """
    check_bools(program=program)
    return Explanation("\n".join(_lines(model, graphs, inputs, program)))


def _lines(model, graphs, inputs, program) -> list[str]:
    if graphs is None:
        described = describe(cell_of(model), None, inputs)
        return [*_programs(described, program), *_reason_for_the_cpu(described)]
    call = call_of(model, graphs, inputs)
    described = describe(call.cell, call.graphs, call.inputs, call.pushes)
    step = predict_step(call)
    return [
        *_programs(described, program),
        *_reason_for_the_cpu(described),
        *_tasks(call, step),
        *_choices(call),
        *_memory(step.memory),
    ]


def _programs(described, with_text):
    lines = []
    for program in described:
        if program["nodes"] is None:
            lines += [f"{program['title']}: none. {program['error']}", ""]
            continue
        lines += [program["title"], *_operators(program["nodes"], _Places())]
        if with_text:
            lines += [f"  {line}" for line in program["program"].splitlines()]
        lines.append("")
        for variant in program["variants"] if with_text else []:
            traits = variant["traits"]
            vertices = " and ".join(text for bit, _, text in TRAITS if traits & bit)
            lines.append(f"{program['title']}{names_of(traits)}, in tasks in which {vertices}")
            lines += [f"  {line}" for line in variant["program"].splitlines()]
            lines.append("")
    return lines


def _operators(nodes, places):
    lines = []
    for stage, meaning in STAGES.items():
        here = [node for node in nodes if node["stage"] == stage]
        if here:
            lines += [f"  {stage:8} ({meaning}):", *_stage_lines(here, places)]
    fallbacks = [places.beside_name(n["op"], n["origins"]) for n in nodes if not n["native"]]
    lines.append(f"  by TensorFlow's own kernels: {', '.join(fallbacks) or 'none'}")
    return lines


def _reason_for_the_cpu(described):
    """A line that says why GPUs do not run the programs, if they run others."""
    nodes = [node for program in described for node in program["nodes"] or []]
    missing = dict.fromkeys(node["op"] for node in nodes if not node["gpus_run"])
    if not missing or not may_run_on_gpus():
        return []
    return [f"runs on the CPU, as there are no kernels for GPUs of: {', '.join(missing)}"]


def _stage_lines(nodes, places):
    """Lines for the operators of a stage; merged and fused ones have a line of their own."""
    lines = []
    for (special, origins), group in itertools.groupby(nodes, _kind_and_origins):
        labels = [_label(node) for node in group]
        if special:
            shown = [f"{special}: {label}" for label in labels]
        else:
            counts = collections.Counter(labels)
            shown = [", ".join(n if c == 1 else f"{c} x {n}" for n, c in counts.items())]
        lines += [f"    {own:{_WIDTH}}  {places.of(origins)}".rstrip() for own in shown]
    return lines


def _kind_and_origins(node):
    special = "merged" if node["merged"] else "fused" if node["members"] else ""
    return special, frozenset(node["origins"])


def _label(node):
    return f"{node['shown']} adding in place" if node["adds"] else node["shown"]


class _Places:
    """The layers and the lines that operators of one program come from, as text."""

    def __init__(self):
        self._shown = set()  # The lines of which the text has been shown.

    def of(self, origins) -> str:
        """The layers and lines of an operator, and the text of a line that occurs first."""
        layers = sorted({origin.layer for origin in origins} - {""})
        lines = sorted({(origin.path, origin.line) for origin in origins if origin.line})
        where = [f"layer {', '.join(layers)}"] if layers else []
        where += self._numbers(lines)
        if len(lines) == 1 and lines[0] not in self._shown:
            self._shown.add(lines[0])
            text = text_of(*lines[0])
            where.append(text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}...")
        return "  ".join(where)

    def beside_name(self, name, origins) -> str:
        """A name with the lines in brackets."""
        lines = sorted({(origin.path, origin.line) for origin in origins if origin.line})
        return f"{name} ({', '.join(self._numbers(lines))})" if lines else name

    @staticmethod
    def _numbers(lines) -> list[str]:
        return [
            f"{_name_of_file(path)}:{', '.join(str(line) for _, line in group)}"
            for path, group in itertools.groupby(lines, lambda line: line[0])
        ]


def _name_of_file(path):
    return "cell" if "ipykernel_" in path else os.path.basename(path)


def _tasks(call, step):
    schedule = call.cell._schedule_of(call.graphs, name_inputs(call.inputs), call.at)
    sizes = np.diff(schedule.task_splits.numpy())
    if not sizes.size:
        return ["tasks: none, as there are no vertices"]
    return [
        f"{sizes.sum()} vertices in {sizes.size} tasks; no schedule has fewer than "
        f"{schedule.min_tasks}",
        f"  vertices per task: largest {sizes.max()}, median {int(np.median(sizes))}, "
        f"smallest {sizes.min()}",
        *_programs_of_tasks(sizes, _names_of_programs(call, schedule, step)),
        f"  gathered rows that need no copy: {schedule.view_share:.0%}",
    ]


def _names_of_programs(call, schedule, step) -> list[str]:
    """The program that evaluates each task, as it is called in profiles and by `program=True`."""
    names = [name for name, _ in call.cell._evaluated_functions(name_inputs(call.inputs))]
    types = schedule.task_type.numpy()
    return [f"{names[t]}{names_of(own)}" for t, own in zip(types, step.task_traits, strict=True)]


def _programs_of_tasks(sizes, programs):
    """Lines that say which program evaluates which tasks; if these are many, how many."""
    runs = []
    for name, group in itertools.groupby(range(len(sizes)), lambda task: programs[task]):
        tasks = list(group)
        last = f"s {tasks[0]} to {tasks[-1]}" if len(tasks) > 1 else f" {tasks[0]}"
        runs.append(f"  task{last}: {sizes[tasks].sum()} vertices by {name}")
    if len(runs) <= _MOST_LINES:
        return runs
    names = np.array(programs)
    return [
        f"  {(names == name).sum()} tasks: {sizes[names == name].sum()} vertices by {name}"
        for name in dict.fromkeys(programs)
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
            f"{available_bytes(cell._cache.last, options):,} bytes)"
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

"""Makes a failing case smaller as long as it fails in the same way."""

import dataclasses
import time

import tensorflow as tf

from tests.fuzz.cases import Case
from tests.fuzz.oracle import Oracle
from tests.fuzz.programs import NAME, Input, Line, Program, without_dead_lines
from tests.fuzz.verdict import Verdict


def shrink(case: Case, verdict: Verdict, check, seconds: float = 180.0) -> Case:
    """The smallest failing case that is found within some time.

    Args:
      case: A case that fails.
      verdict: The verdict on it.
      check: A function from a case to its verdict, in a child process.
      seconds: The time for shrinking.
    """
    end, progress = time.monotonic() + seconds, True
    while progress and time.monotonic() < end:
        progress = False
        for candidates in _WAYS:
            smaller = _first_that_fails(case, verdict, check, candidates, end)
            while smaller is not None:
                case, progress = smaller, True
                smaller = _first_that_fails(case, verdict, check, candidates, end)
    return case


def _first_that_fails(case, verdict, check, candidates, end):
    for candidate in candidates(case):
        if time.monotonic() > end:
            return None
        if check(candidate).same_failure(verdict):
            return candidate
    return None


def _fewer_steps(case):
    for k in range(len(case.steps)) if len(case.steps) > 1 else ():
        yield dataclasses.replace(case, steps=case.steps[k : k + 1])
    for k in range(len(case.steps)) if len(case.steps) > 2 else ():
        yield dataclasses.replace(case, steps=case.steps[:k] + case.steps[k + 1 :])


def _plainer_calls(case):
    plain = {"as_function": False, "scheduled": False, "training": None}
    for name, value in plain.items():
        if getattr(case, name) != value:
            yield dataclasses.replace(case, **{name: value})


def _with_step(case, k, **changes):
    steps = list(case.steps)
    steps[k] = dataclasses.replace(steps[k], **changes)
    return dataclasses.replace(case, steps=tuple(steps))


def _plainer_steps(case):
    for k, step in enumerate(case.steps):
        if step.options:
            yield _with_step(case, k, options={})
        for name in step.options:
            options = {key: value for key, value in step.options.items() if key != name}
            yield _with_step(case, k, options=options)
        disabled = step.options.get("disable", ())
        for name in disabled if len(disabled) > 1 else ():
            left = tuple(other for other in disabled if other != name)
            yield _with_step(case, k, options=step.options | {"disable": left})
        if step.at is not None:
            yield _with_step(case, k, at=None)
        if step.partial:
            yield _with_step(case, k, partial=False)
        if step.pieces:
            yield _with_step(case, k, pieces=step.pieces - 1)


def _fewer_graphs(case):
    for k, step in enumerate(case.steps):
        for kept in _halves(len(step.minibatch)):
            yield _keep_vertices(case, k, [g in kept for g, n in _sizes(step) for _ in range(n)])


def _sizes(step):
    return list(enumerate(map(len, step.minibatch)))


def _halves(count):
    """Sets of indices to keep: halves, then all but one."""
    everything = range(count)
    if count > 3:
        yield set(everything[: count // 2])
        yield set(everything[count // 2 :])
    for left_out in everything:
        yield set(everything) - {left_out}


def _fewer_vertices(case):
    for k, step in enumerate(case.steps):
        for kept in _halves(step.num_vertices):
            yield _keep_vertices(case, k, [v in kept for v in range(step.num_vertices)])


def _keep_vertices(case, k, kept):
    """Removes vertices: empty graphs go, and children that go become missing ones."""
    step, minibatch, first = case.steps[k], [], 0
    for children in step.minibatch:
        here = kept[first : first + len(children)]
        first += len(children)
        names = {v: i for i, v in enumerate(v for v, stays in enumerate(here) if stays)}
        if names:
            minibatch.append(tuple(tuple(names.get(c, -1) for c in children[v]) for v in names))
    types = step.types and tuple(t for t, stays in zip(step.types, kept, strict=True) if stays)
    names = {v: i for i, v in enumerate(v for v, stays in enumerate(kept) if stays)}
    at = None if step.at is None else tuple(names[v] for v in step.at if v in names)
    return _with_step(case, k, minibatch=tuple(minibatch), types=types, at=at)


def _fewer_edges(case):
    for k, step in enumerate(case.steps):
        for g, children in enumerate(step.minibatch):
            for v, own in enumerate(children):
                if own:
                    fewer = (*children[:v], (), *children[v + 1 :])
                    minibatch = (*step.minibatch[:g], fewer, *step.minibatch[g + 1 :])
                    yield _with_step(case, k, minibatch=minibatch)


def _one_type(case):
    functions = case.program.functions
    for function in functions if len(functions) > 1 else ():
        only = dataclasses.replace(function, name="vertex")
        program = dataclasses.replace(case.program, functions=(only,))
        steps = tuple(dataclasses.replace(step, types=None) for step in case.steps)
        yield dataclasses.replace(case, program=_tidy(program), steps=steps)


def _with_function(case, f, **changes):
    functions = list(case.program.functions)
    functions[f] = without_dead_lines(dataclasses.replace(functions[f], **changes))
    program = dataclasses.replace(case.program, functions=tuple(functions))
    return dataclasses.replace(case, program=_tidy(program))


def _tidy(program: Program) -> Program:
    """Removes inputs, weights and layers that nothing reads."""
    lines = [line for function in program.functions for line in function.lines]
    used = {name for line in lines for name in line.reads}
    inputs = {
        name: spec
        for name, spec in program.inputs.items()
        if any(line.pulls(name) for line in lines)
    }
    members = tuple(line for line in program.members if line.name in used)
    return dataclasses.replace(program, inputs=inputs, members=members)


def _fewer_pushes(case):
    for f, function in enumerate(case.program.functions):
        for push in function.pushes:
            pushes = tuple(p for p in function.pushes if p != push)
            yield _with_function(case, f, pushes=pushes)


def _fewer_lines(case):
    """Removes a line: lines that read it read one of its operands instead."""
    for f, function in enumerate(case.program.functions):
        for line in reversed(function.lines):
            for operand in dict.fromkeys(line.reads):
                yield _with_function(case, f, **_renamed(function, line.name, operand))


def _renamed(function, old, new):
    name = lambda text: NAME.sub(lambda m: new if m[0] == old else m[0], text)  # noqa: E731
    lines = tuple(
        dataclasses.replace(line, source=name(line.source))
        for line in function.lines
        if line.name != old
    )
    pushes = tuple((label, name(value)) for label, value in function.pushes)
    return {"lines": lines, "state": name(function.state), "pushes": pushes}


def _pulled_lines(case):
    """Replaces the value of a line by an input, or by the state of a child."""
    try:
        shapes = _shapes_of_lines(case.program)
    except Exception:  # TensorFlow rejects the candidate, which is not shrunk further.
        return
    for f, function in enumerate(case.program.functions):
        for line in reversed(function.lines):
            shape = shapes.get((f, line.name))
            raw = ("self.pull", "self.gather", "self.children")
            if shape is None or line.source.startswith(raw):
                continue
            new = ("y" if line.edges else "z") + "_".join(map(str, shape))
            inputs = case.program.inputs | {new: Input(shape, "float", line.edges)}
            pulled = dataclasses.replace(
                case, program=dataclasses.replace(case.program, inputs=inputs)
            )
            replaced = [_pulled(line, new) if other is line else other for other in function.lines]
            yield _with_function(pulled, f, lines=tuple(replaced))


def _pulled(line, name):
    source = f"self.pull_edge({name!r})" if line.edges else f"self.pull({name!r})"
    return Line(line.name, source, edges=line.edges)


def _shapes_of_lines(program):
    """The shape of a row, by (vertex type, line), of lines that are floats."""
    shapes, oracle = {}, Oracle(program)
    for f, function in enumerate(program.functions):
        values = oracle.values_of_lines(f)
        for line, value in zip(function.lines, values, strict=True):
            if tf.is_tensor(value) and value.dtype == tf.float64:
                shapes[f, line.name] = tuple(value.shape[1:])
    return shapes


_WAYS = (
    _fewer_steps,
    _plainer_calls,
    _plainer_steps,
    _fewer_graphs,
    _one_type,
    _fewer_pushes,
    _fewer_lines,
    _pulled_lines,
    _fewer_vertices,
    _fewer_edges,
)

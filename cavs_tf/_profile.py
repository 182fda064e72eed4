"""What ran inside of the ops, and when, as TensorFlow's profiler saw it."""

import dataclasses
import glob
import itertools
import os
import tempfile

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

CALLER = "the calling thread"
STREAMS = ("critical stream", "eager and lazy stream")  # With `Options(streams=2)`.


@dataclasses.dataclass(frozen=True)
class Span:
    """Something that ran: times are seconds since the first of them began.

    Attributes:
      thread: What ran it: `CALLER`, one of `STREAMS`, or "worker 1" and so on.
      name: "task 3: 17 rows of Cell.vertex", or what an operator is called in `explain`.
      stage: Of the operator, or of what it is a part of.
      began, ended: Seconds.
    """

    thread: str
    name: str
    stage: str
    began: float
    ended: float


def record(model, arguments) -> dict[str, list[Span]]:
    """What runs in a model's call ("forward") and, if it has weights, in its gradient."""
    _step(model, arguments, _unwatched)  # Traces and allocates; not shown.
    forward, backward = _step(model, arguments, _watched)
    return {"forward": forward, "backward": backward} if backward else {"forward": forward}


def _step(model, arguments, watch):
    with tf.GradientTape() as tape:
        outputs, forward = watch(lambda: model(*arguments))
    weights = [variable.value for variable in model.trainable_variables]
    if not weights:
        return forward, []
    zero = tf.UnconnectedGradients.ZERO
    _, backward = watch(lambda: tape.gradient(outputs, weights, unconnected_gradients=zero))
    return forward, backward


def _unwatched(function):
    return function(), []


def _watched(function):
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        try:
            result = function()
        finally:
            tf.profiler.experimental.stop()
        (path,) = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
        with open(path, "rb") as file:
            return result, _spans(xplane_pb2.XSpace.FromString(file.read()))


def _spans(space) -> list[Span]:
    """Of the threads on which something of ours ran, the one that called the op first."""
    threads = [_spans_of(plane, line) for plane in space.planes for line in plane.lines]
    threads = sorted((spans for spans in threads if spans), key=lambda spans: spans[0].began)
    start = threads[0][0].began if threads else 0.0
    return [
        dataclasses.replace(span, thread=thread, began=span.began - start, ended=span.ended - start)
        for thread, spans in zip(_names(threads), threads, strict=True)
        for span in spans
    ]


def _names(threads) -> list[str]:
    """Two streams are the threads that run tasks and, without tasks, eager or lazy operators."""
    names, workers = [], itertools.count(1)
    kinds = [{span.name.partition(" ")[0] for span in spans} for spans in threads]
    beside = [bool(own & {"eager:", "lazy:"}) and "task" not in own for own in kinds]
    for i, spans in enumerate(threads):
        if any(beside) and "task" in kinds[i]:
            names.append(STREAMS[0])
        elif beside[i]:
            names.append(STREAMS[1])
        elif i == 0 or "prologue" in {span.stage for span in spans}:
            names.append(CALLER)
        else:
            names.append(f"worker {next(workers)}")
    return names


def _spans_of(plane, line) -> list[Span]:
    spans = []
    for event in line.events:
        stage = _stage(plane, event)
        if stage:
            name = plane.event_metadata[event.metadata_id].name
            began = line.timestamp_ns / 1e9 + event.offset_ps / 1e12
            spans.append(Span("", name, stage, began, began + event.duration_ps / 1e12))
    return sorted(spans, key=lambda span: (span.began, -span.ended))


def _stage(plane, event) -> str:
    for stat in event.stats:
        if plane.stat_metadata[stat.metadata_id].name == "stage":
            return stat.str_value or plane.stat_metadata[stat.ref_value].name
    return ""

"""Records the operators that run inside of our ops, and when, with TensorFlow's profiler."""

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
class Interval:
    """The time during which a thread ran a stage, a task or an operator.

    Attributes:
      thread: The thread's name: `CALLER`, one of `STREAMS`, or "worker 1" and so on.
      name: "task 3: 17 rows of Cell.vertex", or an operator's name as `explain` prints it.
      stage: A key of `_stages.STAGES`: the stage itself, or that of the task or operator.
      began, ended: Seconds since the first interval of the recording began.
    """

    thread: str
    name: str
    stage: str
    began: float
    ended: float


def record(model, arguments) -> dict[str, list[Interval]]:
    """Calls a model and computes its gradient, and records both.

    Returns:
      The intervals of the call under "forward" and, if the model has weights, the intervals of the
      gradient under "backward".
    """
    _step(model, arguments, _unwatched)  # The first step traces and allocates.
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
            return result, _intervals(xplane_pb2.XSpace.FromString(file.read()))


def _intervals(space) -> list[Interval]:
    """The intervals of all threads that ran something of ours, thread by thread."""
    threads = [_intervals_of(plane, line) for plane in space.planes for line in plane.lines]
    threads = sorted(
        (intervals for intervals in threads if intervals), key=lambda intervals: intervals[0].began
    )
    start = threads[0][0].began if threads else 0.0
    return [
        dataclasses.replace(
            interval, thread=thread, began=interval.began - start, ended=interval.ended - start
        )
        for thread, intervals in zip(_names(threads), threads, strict=True)
        for interval in intervals
    ]


def _names(threads) -> list[str]:
    """A name for each thread; `threads` are lists of intervals, by when the first began.

    With two streams, the threads that run tasks are the critical stream, and those that run
    eager or lazy operators but no task are the other one.
    """
    names, workers = [], itertools.count(1)
    kinds = [{interval.name.partition(" ")[0] for interval in intervals} for intervals in threads]
    beside = [bool(own & {"eager:", "lazy:"}) and "task" not in own for own in kinds]
    for i, intervals in enumerate(threads):
        if any(beside) and "task" in kinds[i]:
            names.append(STREAMS[0])
        elif beside[i]:
            names.append(STREAMS[1])
        elif i == 0 or "prologue" in {interval.stage for interval in intervals}:
            names.append(CALLER)
        else:
            names.append(f"worker {next(workers)}")
    return names


def _intervals_of(plane, line) -> list[Interval]:
    intervals = []
    for event in line.events:
        stage = _stage(plane, event)
        if stage:
            name = plane.event_metadata[event.metadata_id].name
            began = line.timestamp_ns / 1e9 + event.offset_ps / 1e12
            intervals.append(Interval("", name, stage, began, began + event.duration_ps / 1e12))
    return sorted(intervals, key=lambda interval: (interval.began, -interval.ended))


def _stage(plane, event) -> str:
    for stat in event.stats:
        if plane.stat_metadata[stat.metadata_id].name == "stage":
            return stat.str_value or plane.stat_metadata[stat.ref_value].name
    return ""

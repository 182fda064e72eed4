"""The time of operators of a TensorFlow program, including those inside of our ops."""

import glob
import os
import tempfile

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2


def timed_operators(run, outline: bool = False) -> list[tuple[str, str, float]]:
    """(kind, name, seconds) of all operators in `run()`, without the operators that they called.

    With `outline` our ops show one event, "programs", instead of the operators inside: recording
    a small operator takes as long as running it, and counts as time of the op around it.
    """
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        try:
            os.environ["CAVS_PROFILE"] = "outline" if outline else ""
            run()
        finally:
            del os.environ["CAVS_PROFILE"]
            tf.profiler.experimental.stop()
        (path,) = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
        with open(path, "rb") as file:
            space = xplane_pb2.XSpace.FromString(file.read())
    return [
        operator
        for plane in space.planes
        for line in plane.lines
        for operator in _own_times(plane, line)
    ]


def _own_times(plane, line):
    open_ones = []  # [end, kind, name, own time] of events that have not ended.
    for event in sorted(line.events, key=lambda e: (e.offset_ps, -e.duration_ps)):
        named = _kind_and_name(plane, event)
        if named is None:
            continue
        while open_ones and open_ones[-1][0] <= event.offset_ps:
            yield _closed(open_ones.pop())
        if open_ones:
            open_ones[-1][3] -= event.duration_ps
        end = event.offset_ps + event.duration_ps
        open_ones.append([end, *named, event.duration_ps])
    yield from map(_closed, open_ones)


def _closed(operator):
    _, kind, name, own_ps = operator
    return kind, name, own_ps / 1e12


def _kind_and_name(plane, event) -> tuple[str, str] | None:
    name = plane.event_metadata[event.metadata_id].name
    if any(plane.stat_metadata[stat.metadata_id].name == "stage" for stat in event.stats):
        return "cavs", name
    # TensorFlow writes "its/name:ItsType"; events of its runtime are called "Class::Method".
    before, _, kind = name.rpartition(":")
    return ("tensorflow", kind) if before and kind.isidentifier() and before[-1] != ":" else None

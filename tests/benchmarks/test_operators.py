"""Which operators count as moving rows, in profiles of three kinds."""

import pytest

from benchmarks.peers import _operators


@pytest.mark.parametrize(
    ("kind", "moves", "computes", "neither"),
    [
        (
            "cavs",
            ["gather(0)", "push_grad(0)", "pack weights"],
            ["MatMul", "group of 9: Mul x9"],
            "task 3: 17 rows of Cell.vertex",
        ),
        (
            "tensorflow",
            ["ResourceGather", "GatherV2", "ConcatV2", "StridedSliceGrad", "UnsortedSegmentSum"],
            ["_MklMatMul", "Sigmoid", "AddN", "TanhGrad", "Sum"],
            "CavsForward",
        ),
        (
            "torch",
            ["aten::index_select", "aten::cat", "aten::copy_", "aten::scatter_add_"],
            ["aten::mm", "aten::addmm", "aten::tanh", "aten::mul_"],
            "aten::view",
        ),
    ],
)
def test_operators_are_told_apart_by_name(kind, moves, computes, neither):
    for name in moves:
        assert _operators.memory_share([(kind, name, 1.0)]) == 1.0, name
    for name in computes:
        assert _operators.memory_share([(kind, name, 1.0)]) == 0.0, name
    assert _operators.memory_share([(kind, neither, 1.0)]) is None


def test_the_share_is_that_of_the_time():
    timed = [("cavs", "gather(1)", 1.0), ("cavs", "MatMul", 2.0), ("tensorflow", "Mul", 1.0)]
    assert _operators.memory_share(timed) == 0.25


def test_what_an_operator_called_is_not_counted_twice():
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    from benchmarks.peers import _tensorflow_profile

    plane = xplane_pb2.XPlane()
    plane.stat_metadata[1].name = "stage"
    line = plane.lines.add()

    def event(number, name, begin, duration, stage=False):
        plane.event_metadata[number].name = name
        added = line.events.add(metadata_id=number, offset_ps=begin, duration_ps=duration)
        if stage:
            added.stats.add(metadata_id=1, str_value="critical")

    event(1, "model/CavsForward:CavsForward", 0, 100)
    event(2, "task 0: 3 rows of Cell.vertex", 10, 60, stage=True)
    event(3, "MatMul", 10, 40, stage=True)
    event(4, "gather(0)", 50, 10, stage=True)
    event(5, "model/add:AddV2", 100, 7)
    event(6, "ExecutorState::Process", 0, 500)
    times = [
        (kind, name, round(seconds * 1e12))
        for kind, name, seconds in _tensorflow_profile._own_times(plane, line)
    ]
    assert sorted(times) == [
        ("cavs", "MatMul", 40),
        ("cavs", "gather(0)", 10),
        ("cavs", "task 0: 3 rows of Cell.vertex", 10),
        ("tensorflow", "AddV2", 7),
        ("tensorflow", "CavsForward", 40),
    ]

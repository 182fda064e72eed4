"""AutoGraph leaves the package's own functions as they are, in `tf.function` and in pipelines.

It would rewrite every function that a function of the user calls, and all that these call. That
takes longer than the tracing of a small model, and the new code is not the code that was tested.
"""

import pytest
import tensorflow as tf
from tensorflow.python.autograph.impl import api

import cavs_tf as cavs

GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[], [0]]])
ROWS = tf.ones([5, 3])
SPLITS = tf.constant([0, 2, 3])


@pytest.fixture
def converted(monkeypatch):
    """The names of the functions of the package that AutoGraph converts."""
    names, convert = [], api._convert_actual

    def recorded(function, *arguments):
        of_package = (function.__module__ or "").startswith("cavs_tf")
        if of_package and not api.is_autograph_artifact(function):
            names.append(f"{function.__module__}.{function.__qualname__}")
        return convert(function, *arguments)

    monkeypatch.setattr(api, "_convert_actual", recorded)
    return names


def of_layers():
    tree, sequence = cavs.keras.TreeLSTM(2, arity=2), cavs.keras.LSTM(2)
    others = (
        cavs.keras.DAGNN(2),
        cavs.keras.Pool("attention"),
        cavs.keras.Roots("mean"),
        cavs.keras.Split(),
    )
    table = cavs.keras.Embedding(5, 2, mask_negative=True)

    @cavs.vertex_function(state_size=3, arity=2)
    def total(v):
        v.scatter(v.pull() + v.gather(0) + v.gather(1))
        v.push(v.pull())

    return {
        "TreeLSTM": lambda: tree(GRAPHS, ROWS),
        "extend": lambda: tree.extend(None, [[], [0]], tf.ones([2, 3])),
        "LSTM": lambda: sequence(tf.ones([2, 3, 4])),
        "Embedding": lambda: table(tf.range(5) - 1),
        "a vertex function": lambda: total(GRAPHS, ROWS),
        "its extend": lambda: total.extend(None, [[], [0]], tf.ones([2, 3])),
        "reference.run": lambda: cavs.reference.run(total, GRAPHS, ROWS),
        **{other.name: lambda other=other: other(GRAPHS, ROWS) for other in others},
    }


def of_graphs():
    return {
        "concat": lambda: cavs.GraphBatch.concat([GRAPHS, GRAPHS]).roots,
        "chain": lambda: cavs.GraphBatch.chain(SPLITS).to_dict(),
        "from_children": lambda: cavs.GraphBatch.from_children([[[], [0]]]).edges,
        "from_dict": lambda: cavs.GraphBatch.from_dict(GRAPHS.to_dict()).roots,
        "from_edges": lambda: cavs.GraphBatch.from_edges([2], [[(0, 1)]]).reverse().roots,
        "from_parents": lambda: cavs.GraphBatch.from_parents([[1, -1]]).roots,
        "from_rounds": lambda: cavs.GraphBatch.from_rounds([2], [[(0, 1)]], 2)[1],
        "schedule": lambda: GRAPHS.schedule(2).order,
        "split": lambda: GRAPHS.split(ROWS).to_tensor(),
        "subgraph": lambda: GRAPHS.subgraph([0, 1]).with_schedule(2).num_edges,
        "gather": lambda: cavs.ops.gather(ROWS, tf.zeros([5], tf.int32)),
        "present_ids": lambda: cavs.ops.present_ids(SPLITS - 1)[0],
    }


@pytest.mark.in_turns
@pytest.mark.parametrize("calls", [of_layers, of_graphs])
def test_what_a_function_calls_is_not_converted(calls, converted):
    for name, call in calls().items():
        call()  # Weights are made.
        tf.function(lambda call=call: call() is None)()
        assert converted == [], name


def pipelines():
    examples = cavs.data.from_arrays(
        [0, 1, 3, 4], {"children": [[-1], [-1], [0], [-1]]}, {"label": [7, 8, 9]}
    )
    yield cavs.data.batch(examples, 2)
    yield cavs.data.batch(examples, max_vertices=3, bucket_by="size", pool=3)
    yield cavs.data.batch(examples, 2, as_dict=True, replicas=2)
    yield from cavs.data.split(examples, 0.5)
    yield cavs.data.listops(3)
    graphs = ["label", *cavs.keras.graph_inputs()]
    yield cavs.keras.for_fit(cavs.data.batch(examples, 2), graphs, "label")


@pytest.mark.in_turns
def test_a_pipeline_is_not_converted(converted):
    for pipeline in pipelines():
        list(pipeline)
    assert converted == []

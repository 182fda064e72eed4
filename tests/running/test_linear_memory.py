"""Memory grows with the size of a minibatch, not with the square of its widest or longest graph."""

import json

import pytest

from tests.helpers import processes

# Prints by how many MiB each of these operations raised the peak of memory.
PROGRAM = """
import json, pathlib, resource
import tensorflow as tf
import cavs_tf as cavs

FOLDER = pathlib.Path()

def read(name, num_words):
    path = FOLDER / name
    path.write_text("(0" + " (1 w)" * num_words + ")")
    return cavs.data.ptb_trees(path)

def read_a_wide_vertex():
    (tree,) = read("wide.txt", 30_000)
    assert tree["children"].to_list()[-1] == list(range(30_000))

def batch_a_wide_vertex():
    try:
        next(iter(cavs.data.batch(read("wide.txt", 30_000), 1, arity=2)))
    except tf.errors.InvalidArgumentError as error:
        assert "got 30000 children but expected at most 2" in str(error), error
    else:
        raise AssertionError

def graph_of_each_vertex():
    assert int(cavs.GraphBatch.chain([20_000] + [1] * 20_000).vertex_graph[-1]) == 20_000

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

next(iter(cavs.data.batch(read("small.txt", 2), 1, arity=2)))  # What is loaded once.
peaks = [peak()]
functions = (read_a_wide_vertex, batch_a_wide_vertex, graph_of_each_vertex)
for function in functions:
    function()
    peaks.append(peak())
print(json.dumps({f.__name__: b - a for f, a, b in zip(functions, peaks, peaks[1:])}))
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    done, printed, error = processes.run_program(PROGRAM, folder, folder)
    assert done, error
    return json.loads(printed)


@pytest.mark.parametrize(
    "what", ["read_a_wide_vertex", "batch_a_wide_vertex", "graph_of_each_vertex"]
)
def test_memory_is_linear(grown, what):
    assert grown[what] < 100  # MiB; memory that grows with the square would be 400 to 4,400.

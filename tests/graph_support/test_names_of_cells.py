"""Names of a user's cell and of GraphSupport do not meet silently."""

import keras
import pytest
import tensorflow as tf

import cavs_tf as cavs

TREES = cavs.GraphBatch.from_parents([[2, 2, -1]])
ROWS = tf.ones([3, 4])
# What a vertex function may call, and what is called with graphs, or describes a GraphSupport.
_DOCUMENTED = """
call child_mask children dropout extend extension gather gather_all has_child max_children
mean_children num_children pull pull_edge push push_edge scatter softmax_children state_shape
sum_children to_children vertex vertex_ids
"""
DOCUMENTED = _DOCUMENTED.split()
OF_KERAS = {"build_from_config", "get_build_config", "get_config", "from_config"}
OF_KERAS |= {"compute_output_shape", "compute_output_spec"}
CELLS = (
    cavs.keras.TreeLSTMCell,
    cavs.keras.TreeGRUCell,
    cavs.keras.GRUCell,
    cavs.keras.DAGNNCell,
    cavs.keras.GGNNCell,
)


class Sum(cavs.GraphSupport):
    """Sums its children, by a layer that may have any name."""

    arity = 2

    def __init__(self, name="dense"):
        super().__init__(state_size=4)
        self.name_of_layer = name
        setattr(self, name, keras.layers.Dense(4))

    def vertex(self):
        h = getattr(self, self.name_of_layer)(self.pull()) + self.gather(0) + self.gather(1)
        self.scatter(h)
        self.push(h)


def methods(cls):
    """The names of methods of this class and those that it is made of, but not of Keras's."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("cavs_tf.")]
    return {name for base in ours for name, value in vars(base).items() if callable(value)}


def test_public_methods_are_those_that_are_documented():
    public = {name for name in methods(cavs.GraphSupport) if not name.startswith("_")}
    assert public - OF_KERAS == set(DOCUMENTED) - {"state_shape"}


@pytest.mark.parametrize("cell", CELLS)
def test_recurrent_cells_have_no_public_methods_of_their_own(cell):
    public = {name for name in methods(cell) if not name.startswith("_")}
    assert public <= {*DOCUMENTED, *OF_KERAS, "build"}


@pytest.mark.parametrize("name", ("zeros", "prepare", "unname", "add", "cast", "parts", "join"))
def test_names_that_are_not_documented_are_free(name):
    graphs, rows = cavs.keras.graph_inputs(), keras.Input([4], name="rows")
    layer = cavs.keras.Graph(Sum(name))
    model = keras.Model({**graphs, "rows": rows}, layer(graphs, rows))
    assert model({**TREES.to_dict(), "rows": ROWS}).shape == (1, 4)


@pytest.mark.parametrize("name", [n for n in DOCUMENTED if n not in ("call", "vertex")])
def test_documented_names_are_refused_as_attributes(name):
    message = (
        rf"^{name}: got Dense as an attribute of Sum but expected another name, as a GraphSupport "
        r"has a method of this name\. Rename it\.$"
    )
    with pytest.raises(ValueError, match=message):
        Sum(name)


@pytest.mark.parametrize("name", ["options", "_cache", "_state_shape", "_casts_inputs"])
def test_attributes_that_a_cell_has_are_not_for_something_else(name):
    with pytest.raises(ValueError, match=rf"^{name}: got dict as an attribute of Sum but expected"):
        setattr(Sum(), name, {})
    with pytest.raises(ValueError, match=rf"^{name}: got Dense as an attribute of Sum but expect"):
        Sum(name)


def test_private_names_are_refused_in_classes_too():
    with pytest.raises(ValueError, match=r"^_trace: got function as an attribute of Traced but"):

        class Traced(Sum):
            def _trace(self):
                """Has a name that is taken."""

    with pytest.raises(ValueError, match=r"^_cast: got int as an attribute of TreeLSTMCell but"):
        cavs.keras.TreeLSTMCell(4)._cast = 1


def test_a_documented_method_can_be_overridden():
    class Doubled(Sum):
        def pull(self):
            return 2 * super().pull()

    assert Doubled()(TREES, ROWS).shape == (3, 4)


@pytest.mark.parametrize("layer", [Sum, cavs.keras.TreeLSTM, cavs.keras.LSTM])
@pytest.mark.parametrize("run", (lambda cell, *args: cell(*args), cavs.reference.run))
def test_a_layer_over_graphs_is_not_called_in_a_vertex_function(layer, run, recwarn):
    class Outer(Sum):
        def __init__(self):
            super().__init__()
            self.inner = layer(4) if layer is not Sum else Sum()

        def vertex(self):
            x = self.pull()
            self.inner(x[:, None]) if layer is cavs.keras.LSTM else self.inner(TREES, x)

    message = "got a call in the vertex function of 'outer.*' but expected one outside, as it comp"
    with pytest.raises(ValueError, match=message):
        run(Outer(), TREES, ROWS)


@pytest.mark.parametrize(
    "call",
    (
        lambda inner: inner.gather(0),
        lambda inner: inner.pull(),
        lambda inner: inner.children(),
        lambda inner: inner.dropout(tf.ones([1, 4]), 0.5),
        lambda inner: inner.scatter(tf.ones([1, 4])),
        lambda inner: inner.vertex_ids(),
    ),
)
@pytest.mark.parametrize("run", (lambda cell, *args: cell(*args), cavs.reference.run))
def test_the_vertex_of_another_cell_is_not_read(call, run, recwarn):
    class Outer(Sum):
        def __init__(self):
            super().__init__()
            self.inner = Sum()

        def vertex(self):
            call(self.inner)
            super().vertex()

    message = (
        r": got a call on 'sum[_0-9]*' in the vertex function of 'outer[_0-9]*' but expected one "
        r"on the latter, whose vertex is computed\. Call it on `self`; to run another "
        r"GraphSupport, call that with graphs outside, and pull what it pushes\."
    )
    with pytest.raises(ValueError, match=message):
        run(Outer(), TREES, ROWS)

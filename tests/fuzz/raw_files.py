"""SavedModels that were changed on disk: attributes of our ops, functions, weights."""

import pathlib
import shutil
import tempfile

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.protobuf import saved_model_pb2

from tests.fuzz.raw_functions import spoil_function

_GRAPH, _WEIGHTS = "saved_model.pb", "variables/variables.data-00000-of-00001"


class Files:
    """SavedModels of models, each written when it is first needed.

    Args:
      models: What `raw_calls.make_models` returns.
      spoil: A function from a generator and a value of an attribute to another value.
    """

    def __init__(self, models, spoil):
        self._models, self._spoil = models, spoil
        self._folder = tempfile.TemporaryDirectory()
        self._written = {}

    def run(self, r):
        """Loads a spoilt copy and calls it.

        Raises:
          ValueError: If TensorFlow cannot load it.
        """
        model = r.choice(self._models)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copytree(self._saved(model), folder, dirs_exist_ok=True)
            if r.random() < 0.1:
                _spoil_bytes(r, folder / _WEIGHTS)
            else:
                self._spoil_graph(r, folder / _GRAPH)
            try:
                module = tf.saved_model.load(name)
            except Exception as error:  # TensorFlow has many errors for invalid files.
                raise ValueError("It cannot be loaded.") from error
        name = r.choice(["outputs", "gradients"])
        getattr(module, name)(model.inputs)

    def _saved(self, model):
        if model not in self._written:
            self._written[model] = pathlib.Path(self._folder.name, str(len(self._written)))
            tf.saved_model.save(_module(model), self._written[model])
        return self._written[model]

    def _spoil_graph(self, r, path):
        saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
        library = saved.meta_graphs[0].graph_def.library.function
        for node in _our_ops(library):
            # With this attribute, TensorFlow itself would find most changes.
            node.attr.pop("_output_shapes", None)
        for _ in range(r.choice([1, 1, 2, 3])):
            if r.random() < 0.2:
                # With a constant of another type, TensorFlow ends the process while it imports the
                # graph.
                spoil_function(r, r.choice(_vertex_functions(library)), constants=False)
            else:
                self._spoil_op(r, r.choice(_our_ops(library)))
        path.write_bytes(saved.SerializeToString())

    def _spoil_op(self, r, node):
        name = r.choice(sorted(node.attr))
        value = node.attr[name]
        if r.random() < 0.05:
            del node.attr[name]
        elif value.WhichOneof("value") == "list":
            self._spoil_list(r, value.list)
        elif name.startswith("num_"):  # With 2**62 inputs, TensorFlow ends the process.
            value.i = r.choice([0, 1, 2, 3, 99])
        elif value.WhichOneof("value") is not None:
            self._spoil_field(r, value, value.WhichOneof("value"))

    def _spoil_list(self, r, values):
        """Removes, doubles or spoils an element of the list in use, or moves all elements."""
        if not values.ListFields():
            values.s.append(b"pull:0->")
            return
        (descriptor, elements), what = values.ListFields()[0], r.randrange(4)
        one = [_element(descriptor.name, element) for element in elements]
        if what == 0:
            one.append(r.choice(one))
        elif what == 1:
            del one[r.randrange(len(one))]
        elif what == 2:
            r.shuffle(one)
        else:
            self._spoil_field(r, r.choice(one), descriptor.name)
        del elements[:]
        elements.extend(getattr(value, descriptor.name) for value in one)

    def _spoil_field(self, r, value, kind):
        if kind == "s":
            value.s = self._spoil(r, value.s.decode()).encode()
        elif kind == "i":
            value.i = self._spoil(r, value.i)
        elif kind == "b":
            value.b = not value.b
        elif kind == "type":
            value.type = self._spoil(r, tf.as_dtype(value.type)).as_datatype_enum
        elif kind == "shape":
            sizes = [None, [], [0], [3], [2**40], [1] * 254, [2**31, 2**31]]
            value.shape.CopyFrom(tf.TensorShape(r.choice(sizes)).as_proto())
        elif kind == "func":
            value.func.name = r.choice([value.func.name + "x", "", "Add"])


def _element(field, value):
    """An attribute with this single value."""
    attribute = attr_value_pb2.AttrValue()
    if field in ("shape", "func", "tensor"):
        getattr(attribute, field).CopyFrom(value)
    else:
        setattr(attribute, field, value)
    return attribute


def _module(model):
    """What is saved: the outputs of a model for its graphs, and their gradients."""
    module = tf.Module()
    module.layer = model.layer

    def outputs(inputs):
        return tf.nest.flatten(model.layer(model.graphs, inputs))

    def gradients(inputs):
        floats = [x for x in tf.nest.flatten(inputs) if x.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            losses = [tf.reduce_sum(x) for x in outputs(inputs) if x.dtype.is_floating]
        return tape.gradient(losses, [*floats, *model.layer.trainable_variables])

    spec = tf.nest.map_structure(
        lambda x: tf.TensorSpec([None, *x.shape[1:]], x.dtype), model.inputs
    )
    module.outputs = tf.function(outputs, input_signature=[spec])
    module.gradients = tf.function(gradients, input_signature=[spec])
    return module


def _our_ops(library):
    nodes = (node for f in library for node in f.node_def)
    return [node for node in nodes if node.op.startswith("Cavs") and node.attr]


def _vertex_functions(library):
    names = {f.name for node in _our_ops(library) for a in node.attr.values() for f in a.list.func}
    return [f for f in library if f.signature.name in names]


def _spoil_bytes(r, path):
    data = bytearray(path.read_bytes())
    if r.random() < 0.3:
        del data[r.randrange(len(data)) :]
    else:
        data[r.randrange(len(data))] ^= r.randrange(1, 256)
    path.write_bytes(bytes(data))

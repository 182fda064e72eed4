"""DyNet: a graph of operators for every minibatch, vertex by vertex, batched automatically."""

import numpy as np

import dynet_config  # isort: skip

# They are read when dynet is imported, by the process that runs only this peer.
dynet_config.set(autobatch=1, mem="2048")

import dynet as dy  # noqa: E402

from benchmarks.peers import _base  # noqa: E402


class Peer(_base.Peer):
    """Any workload. Its steps construct the graph of operators and batch it."""

    construct_in_step = True

    def __init__(self, workload, threads):
        super().__init__(workload, threads)
        self.version = f"dynet {getattr(dy, '__version__', 'of unknown version')}"
        # A trainer has only a pointer to its collection: without this reference, updates would use
        # freed memory.
        self._collection = collection = dy.ParameterCollection()
        self._parameters = {
            name: collection.parameters_from_numpy(weight.T.copy())
            for name, weight in workload.weights.items()
            if name != "embedding"
        }
        self._embedding = collection.lookup_parameters_from_numpy(workload.weights["embedding"])
        self._trainer = dy.SimpleSGDTrainer(collection, workload.learning_rate)
        self._trainer.set_clip_threshold(0)  # Off.

    def construct(self):
        """Constructs the expression of the loss for all minibatches, and computes nothing."""
        for index in range(len(self.workload.minibatches)):
            self._loss(index)

    def gradients(self):
        loss = self._loss(0)
        loss.value()
        loss.backward()
        gradients = {
            name: np.array(parameter.grad_as_array(), np.float32).T
            for name, parameter in self._parameters.items()
        }
        gradients["embedding"] = np.array(self._embedding.grad_as_array(), np.float32)
        self._forget_gradients()
        return gradients

    def train(self, index):
        loss = self._loss(index)
        value = loss.value()
        loss.backward()
        self._trainer.update()
        return value

    def infer(self, index):
        return self._loss(index).value()

    def _forget_gradients(self) -> None:
        """Makes the gradients zero by an update that changes nothing."""
        self._trainer.learning_rate = 0.0
        self._trainer.update()
        self._trainer.learning_rate = self.workload.learning_rate

    def _loss(self, index):
        workload, batches = self.workload, self.workload.minibatches
        minibatch = batches[index % len(batches)]
        dy.renew_cg()
        w = {name: _Weight(parameter) for name, parameter in self._parameters.items()}
        states = self._states(minibatch, w)
        losses = []
        for vertex in np.flatnonzero(minibatch.label >= 0).tolist():
            outputs = [states[other][-1] for other in minibatch.outputs[vertex].tolist()]
            h = workload.head(Functions, w, outputs)
            logits = (h @ w["output"] + w["output_bias"]).expression
            losses.append(dy.pickneglogsoftmax(logits, int(minibatch.label[vertex])))
        return dy.esum(losses)

    def _states(self, minibatch, w) -> list:
        workload = self.workload
        zeros = Row(dy.zeros((workload.units,)))
        # The last one is the state of a missing child: -1.
        states = [None] * minibatch.num_vertices + [(zeros,) * workload.num_states]
        vertices = zip(
            minibatch.kind.tolist(),
            minibatch.token.tolist(),
            minibatch.children.tolist(),
            strict=True,
        )
        for vertex, (kind, token, children) in enumerate(vertices):
            vertex_type = workload.vertex_types[kind]
            given = None
            if vertex_type.pulls:
                given = workload.given(Functions, w, kind, Row(self._embedding[token]))
            slots = [states[child] for child in children[: vertex_type.slots]]
            others = [states[child] for child in children[vertex_type.slots :] if child >= 0]
            edges = _Edges(others, zeros)
            states[vertex] = workload.vertex(Functions, w, kind, given, slots, edges)
        return states


class _Weight:
    """A parameter. DyNet has its transpose, since its vectors are columns."""

    def __init__(self, parameter):
        self.parameter = parameter


class Row:
    """A vector, or a sum of products that will become one operator."""

    def __init__(self, expression=None, products=(), bias=None):
        self._expression = expression
        self._products = products
        self._bias = bias

    @property
    def expression(self):
        """The DyNet expression."""
        if self._expression is None:
            start, products = self._bias, self._products
            if start is None:
                (weight, x), *products = products
                start = weight * x
            factors = [factor for product in products for factor in product]
            self._expression = dy.affine_transform([start, *factors]) if factors else start
        return self._expression

    def __matmul__(self, weight):
        return Row(products=((weight.parameter, self.expression),))

    def __add__(self, other):
        if isinstance(other, _Weight):
            other = Row(bias=other.parameter)
        if self._is_open and other._is_open and None in (self._bias, other._bias):
            products = (*self._products, *other._products)
            bias = self._bias if other._bias is None else other._bias
            return Row(products=products, bias=bias)
        return Row(self.expression + other.expression)

    def __radd__(self, zero):
        # Python's sum() begins with 0.
        return self

    def __mul__(self, other):
        return Row(dy.cmult(self.expression, other.expression))

    @property
    def _is_open(self) -> bool:
        return self._expression is None


class _Edges:
    """The children of a vertex that are summed over."""

    def __init__(self, states, zeros):
        self._states, self._zeros = states, zeros

    def sum(self, function, *values):
        if not self._states:
            return self._zeros
        # Converts the values to vectors, so that their operators are not computed again for every
        # child.
        values = [Row(value.expression) for value in values]
        return Row(dy.esum([function(state, *values).expression for state in self._states]))


class Functions:
    """The functions that a workload's cell is written in."""

    @staticmethod
    def sigmoid(x):
        return Row(dy.logistic(x.expression))

    @staticmethod
    def tanh(x):
        return Row(dy.tanh(x.expression))

    @staticmethod
    def split(x, parts):
        size = x.expression.dim()[0][0] // parts
        return [Row(dy.pick_range(x.expression, i * size, (i + 1) * size)) for i in range(parts)]

    @staticmethod
    def concat(parts):
        return Row(dy.concatenate([part.expression for part in parts]))

"""This project, as a user writes it: a vertex function, and the schedule from the pipeline."""

import collections.abc
import dataclasses
import importlib

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers import _base, _forms, _ops_alone, _tensorflow

# Other models have a module of the workload's name.
_MODULES = {"var_lstm": "lstm", "fixed_lstm": "lstm"}
_BFLOAT16_SLACK = 50.0  # bfloat16 has 16 bits less than float32.


class Peer(_tensorflow.TensorFlowPeer):
    """Also takes the fields of `cavs_tf.Options`.

    Args:
      form: "gates": weights, a product and a bias are written for every gate, as in the paper's
        Figure 4; None: as the README and textbooks write cells, with products of what is
        concatenated, and one vertex function unless types compute different things.
      bfloat16: Whether the vertex function and what it pulls are bfloat16, with float32 weights, as
        under Keras's policy `mixed_bfloat16`.
      steps_per_call: As Keras's `steps_per_execution`: what is timed is a call that loops over so
        many steps, and only the loss of its last is known.
      ops_alone: Whether only our two ops are timed, `steps_per_call` steps in a call.
    """

    optimizer_class = cavs.keras.SGD
    inter_op_threads = 1  # As docs/how/performance.md advises. Other systems are slower with one.

    def __init__(
        self,
        workload,
        threads,
        form=None,
        bfloat16=False,
        steps_per_call=1,
        ops_alone=False,
        **options,
    ):
        known = {field.name for field in dataclasses.fields(cavs.Options)}
        missing = sorted(set(options) - known)
        if missing:
            raise _base.Unsupported(f"not available: cavs_tf.Options has no {', '.join(missing)}")
        self.options = cavs.Options(**options)
        name = workload.name
        module = _MODULES.get(name, name)
        model = importlib.import_module(f"benchmarks.peers._cavs.{module}").Model
        self._form = _forms.form_of(form, name, model)
        self._model_class = self._form.model
        if (bfloat16 or ops_alone) and not issubclass(self._model_class, cavs.GraphSupport):
            raise _base.Unsupported("more than one GraphSupport")
        self._bfloat16 = bfloat16
        self.slack = _BFLOAT16_SLACK if bfloat16 else 1.0
        self.steps_per_call = steps_per_call
        super().__init__(workload, threads)
        self.version = f"cavs_tf {cavs.__version__} on {self.version}"
        self.ops = _ops_alone.OpsAlone(self, self._calls_of_ops) if ops_alone else None

    def prepare(self):
        self.variables = self._form.split(self.variables)
        weights, dtype = self.variables, {}
        if self._bfloat16:
            weights, dtype = _AsBfloat16(self.variables), {"dtype": "bfloat16"}
        self.model = self._model_class(self.workload.units, weights, options=self.options, **dtype)
        self.pushes_logits = getattr(self.model, "pushes_logits", False)
        examples = self.workload.examples
        batch, micro_batch = self.workload.settings.batch, self.options.micro_batch
        self.dataset = self._model_class.batches(examples, batch, micro_batch)
        self._steps = None
        steps = {"training": self._train_step, "inference": self.loss}
        self._one = {mode: _calls(step, 1, 0.0) for mode, step in steps.items()}
        self._several = self._one
        if self.steps_per_call > 1:
            self._several = {
                mode: _calls(step, self.steps_per_call, 0.0) for mode, step in steps.items()
            }
        self._some_have_no_label = bool(tf.reduce_any(self.first_inputs()["label"] < 0))
        self._plain = self._graphs_without_schedules()

    def signature(self):
        return [self.dataset.element_spec]

    def first_inputs(self):
        return next(iter(self.dataset))

    def trace_step(self, mode):
        different = [self._one] if self._several is self._one else [self._one, self._several]
        for calls in different:
            calls[mode] = calls[mode].get_concrete_function(self._steps_from(0))

    def single_threaded(self):
        # Wider than `is_small()`: our operators use all threads themselves.
        return self.workload.units * self.workload.settings.batch <= 1024

    def train(self, index):
        return self._run(self._one["training"], index)

    def infer(self, index):
        return self._run(self._one["inference"], index)

    def timed(self, mode, index):
        if self.ops:
            with self.executor():
                return self.ops.run(mode, index)
        return self._run(self._several[mode], index)

    def _run(self, step, index):
        with self.executor():
            return float(step(self._steps_from(index)))

    def gradients(self):
        return self._form.join(super().gradients())

    def _calls_of_ops(self, step, results: int):
        return _calls(step, self.steps_per_call, [0.0] * results)

    def _steps_from(self, index):
        # Steps come in order, and so do the minibatches of the pipeline.
        if index == 0 or self._steps is None:
            self._steps = iter(self.dataset)
        return self._steps

    def loss(self, inputs):
        label = inputs["label"]
        if self.pushes_logits:
            return self.cross_entropy_of_logits(self.run(inputs), label)
        if not self._some_have_no_label:
            return self.cross_entropy(self.run(inputs), label)
        at = tf.where(label >= 0)[:, 0]
        return self.cross_entropy(self.run(inputs, at), tf.gather(label, at))

    def cross_entropy_of_logits(self, logits, label):
        return tf.reduce_sum(cavs.ops.sparse_softmax_cross_entropy(label, logits))

    def run(self, inputs, at=None):
        """What the output layer reads, or computes if the model has it, at some or all vertices."""
        if hasattr(self.model, "run"):
            h = self.model.run(inputs, self.variables["embedding"])
            return h if at is None else tf.gather(h, at)
        return tf.cast(self.model(inputs["graphs"], self.embed(inputs), at=at), tf.float32)

    def embed(self, inputs):
        """What vertices pull, of those that do."""
        pulled = self._model_class.pulled(inputs, self.variables["embedding"])
        dtype = tf.bfloat16 if self._bfloat16 else tf.float32
        return tf.nest.map_structure(
            lambda x: tf.cast(x, dtype) if x.dtype.is_floating else x, pulled
        )

    def construct(self):
        """Makes the schedules of all minibatches; in training the pipeline makes them."""
        for graphs, arity, num_types, edges in self._plain:
            graphs.schedule(arity, num_types, edges=edges)

    def _graphs_without_schedules(self):
        count = self.workload.settings.num_minibatches
        return [
            _plain(graphs)
            for batch in self.dataset.take(count)
            for graphs in tf.nest.flatten(batch)
            if isinstance(graphs, cavs.GraphBatch)
        ]


def _calls(step, count: int, before):
    """A function of an iterator that runs `count` steps, and returns what the last does.

    `before` has the structure and the types of that.
    """

    def several(inputs):
        _, last = tf.while_loop(
            lambda done, _: done < count,
            lambda done, _: (done + 1, step(next(inputs))),
            (0, before),
            parallel_iterations=1,  # One step after the other, as in training anyway.
        )
        return last

    # As in Keras's fit(), TensorFlow and not Python takes the minibatch.
    return tf.function(several if count > 1 else lambda inputs: step(next(inputs)))


def _plain(graphs) -> tuple:
    """(the graphs without their schedule, its arity, number of types, whether it has edges)."""
    types = graphs.vertex_type
    num_types = 1 + int(tf.reduce_max(types)) if len(types) else 1
    plain = cavs.GraphBatch(graphs.child_splits, graphs.child_ids, graphs.graph_splits, types)
    schedule = graphs.attached_schedule
    return plain, schedule.arity, num_types, schedule.has_edges


class _AsBfloat16(collections.abc.Mapping):
    """Variables by name, which are bfloat16 where they are read."""

    def __init__(self, variables):
        self._variables = variables

    def __getitem__(self, name):
        return tf.cast(self._variables[name], tf.bfloat16)

    def __iter__(self):
        return iter(self._variables)

    def __len__(self):
        return len(self._variables)

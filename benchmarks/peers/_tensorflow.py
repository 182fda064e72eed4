"""The base class of systems on TensorFlow."""

import keras
import tensorflow as tf

from benchmarks.peers import _base, _operators, _tensorflow_profile


class Functions:
    """The functions that the cell of a workload is written in."""

    sigmoid = staticmethod(tf.sigmoid)
    tanh = staticmethod(tf.tanh)

    @staticmethod
    def split(x, parts):
        return tf.split(x, parts, axis=-1)

    @staticmethod
    def concat(parts):
        return tf.concat(parts, axis=-1)


class TensorFlowPeer(_base.Peer):
    """A training step as one `tf.function`, with Keras's SGD.

    A subclass says what it makes of a minibatch, and computes the loss of that.
    """

    jit_compile = False
    inter_op_threads = None  # The threads that run operators side by side; None: all threads.
    optimizer_class = keras.optimizers.SGD

    def __init__(self, workload, threads):
        self._is_profiled = False
        super().__init__(workload, threads)
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(self.inter_op_threads or threads)
        self.version = f"tensorflow {tf.__version__}, keras {keras.__version__}"
        self.variables = {n: tf.Variable(w, name=n) for n, w in workload.weights.items()}
        self.optimizer = self.optimizer_class(workload.learning_rate)
        self.prepare()
        self.optimizer.build(list(self.variables.values()))
        signature = self.signature()
        self._train = self._compile(self._train_step, signature)
        self._loss = self._compile(self.loss, signature)
        self._gradients = self._compile(self._loss_gradients, signature)

    def prepare(self) -> None:
        """Makes what steps take as inputs."""
        self.construct()

    def construct(self) -> None:
        """Makes the inputs of steps on all minibatches."""
        self.inputs = [
            tf.nest.map_structure(tf.constant, self.inputs_of(batch))
            for batch in self.workload.minibatches
        ]

    def inputs_of(self, minibatch):
        """The inputs of a step on a minibatch, as a structure of arrays."""
        raise NotImplementedError

    def loss(self, inputs) -> tf.Tensor:
        """The loss, a function of `self.variables`."""
        raise NotImplementedError

    def next_inputs(self, index: int):
        """The inputs of step `index`."""
        return self.inputs[index % len(self.inputs)]

    def signature(self):
        """The signature of the inputs; sizes that differ between minibatches are unknown."""
        if self.jit_compile:
            return None  # XLA compiles for every shape.

        def relax(*tensors):
            shapes = {tuple(tensor.shape) for tensor in tensors}
            sizes = [dims[0] if len(set(dims)) == 1 else None for dims in zip(*shapes, strict=True)]
            return tf.TensorSpec(sizes, tensors[0].dtype)

        return [tf.nest.map_structure(relax, *self.inputs)]

    def single_threaded(self) -> bool:
        """Whether one thread runs all operators, as that is faster."""
        return False

    def is_small(self) -> bool:
        """Whether handing operators to other threads takes longer than what it gains."""
        units = self.workload.units
        return units <= 64 and units * self.workload.settings.batch <= 1024

    def executor(self):
        """The context of calls that chooses what runs operators."""
        single = self.single_threaded() and not self._is_profiled
        kind = "SINGLE_THREADED_EXECUTOR" if single else None
        return tf.experimental.function_executor_type(kind)

    def trace(self, mode):
        with self.executor():
            if mode == "training":
                self._gradients.get_concrete_function(self.first_inputs())
            self.trace_step(mode)

    def trace_step(self, mode: str) -> None:
        """Does as `trace`, for the functions that a step calls."""
        if mode == "training":
            self._train = self._concrete(self._train)
        else:
            self._loss = self._concrete(self._loss)

    def _concrete(self, function):
        """A function that TensorFlow need not look for at each call."""
        concrete = function.get_concrete_function(self.first_inputs())
        return function if self.jit_compile else concrete  # XLA compiles for every shape.

    def train(self, index):
        with self.executor():
            return float(self._train(self.next_inputs(index)))

    def infer(self, index):
        with self.executor():
            return float(self._loss(self.next_inputs(index)))

    def gradients(self):
        with self.executor():
            gradients = self._gradients(self.first_inputs())
        dense = {name: tf.convert_to_tensor(gradient) for name, gradient in gradients.items()}
        return {name: gradient.numpy() for name, gradient in dense.items()}

    def first_inputs(self):
        return self.inputs[0]

    def memory_share(self, run):
        return _operators.memory_share(self.timed_operators(run))

    def timed_operators(self, run, outline=False):
        """As `_tensorflow_profile.timed_operators`, where `run` calls steps of this peer.

        The single-threaded executor leaves operators out of profiles, so it does not run them.
        """
        self._is_profiled = True
        try:
            return _tensorflow_profile.timed_operators(run, outline)
        finally:
            self._is_profiled = False

    def cross_entropy(self, h, label) -> tf.Tensor:
        """The loss of rows that all have labels."""
        logits = h @ self.variables["output"] + self.variables["output_bias"]
        return self.cross_entropy_of_logits(logits, label)

    def cross_entropy_of_logits(self, logits, label) -> tf.Tensor:
        """The loss of logits, the results of the output layer."""
        return tf.reduce_sum(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
        )

    def _compile(self, function, signature):
        return tf.function(function, input_signature=signature, jit_compile=self.jit_compile)

    def _train_step(self, inputs):
        loss, gradients = self._differentiate(inputs)
        self.optimizer.apply(list(gradients.values()), list(self.variables.values()))
        return loss

    def _loss_gradients(self, inputs):
        return self._differentiate(inputs)[1]

    def _differentiate(self, inputs):
        with tf.GradientTape() as tape:
            loss = self.loss(inputs)
        return loss, tape.gradient(loss, self.variables)

"""Variables that vertex functions read, wherever they come from, as Keras variables."""

import contextlib
import dataclasses

import keras
import tensorflow as tf
from tensorflow.python.distribute.distribute_utils import value_container

from cavs_tf._inputs.keras_private import StatelessScope, give_value, variables_without_value
from cavs_tf._values.wide_sums import NARROW, widened


class AdoptedVariable(keras.Variable):
    """A `tf.Variable` that Keras trains and saves as one of its own. Both share the storage."""

    def __init__(self, variable: tf.Variable):
        self._adopted = variable
        super().__init__(
            lambda shape, dtype: variable,
            shape=variable.shape,
            dtype=variable.dtype.name,
            trainable=variable.trainable,
            autocast=False,
            name=variable.name.split(":")[0].split("/")[-1],
        )

    def _initialize_with_initializer(self, initializer):
        self._initialize(self._adopted)


def adopt(variable: tf.Variable) -> AdoptedVariable:
    """The one Keras variable of a `tf.Variable`, however many layers read it.

    With two, an optimizer would apply the gradient twice. So the variable keeps the first.
    """
    adopted = getattr(variable, "_cavs_adopted", None)
    if adopted is None:
        adopted = variable._cavs_adopted = AdoptedVariable(variable)
    return adopted


def _storage(variable: keras.Variable):
    """The `tf.Variable` behind a Keras variable; an adopted one may not have taken it over yet."""
    return variable._adopted if isinstance(variable, AdoptedVariable) else variable._value


@dataclasses.dataclass
class Reads:
    """The variables that some code read: Keras variables, and trainable `tf.Variable`s.

    Attributes:
      of_keras, of_tensorflow: The variables.
      made: Variables that the code made, whether it read them or not.
      adds_loss: Whether the code added a loss by `add_loss`, as activity regularizers do.
    """

    of_keras: list = dataclasses.field(default_factory=list)
    of_tensorflow: list = dataclasses.field(default_factory=list)
    made: list = dataclasses.field(default_factory=list)
    adds_loss: bool = False

    def add(self, others: "Reads") -> None:
        """Adds the variables that other code read."""
        self.of_keras += others.of_keras
        self.of_tensorflow += others.of_tensorflow

    def as_keras_variables(self) -> list:
        """All of these variables as Keras variables, each once."""
        behind = {id(v._value) for v in self.of_keras}
        raw = [v for v in self.of_tensorflow if id(v) not in behind]
        return list({id(v): v for v in (*self.of_keras, *map(adopt, raw))}.values())


class _ReadsOfKeras(StatelessScope):
    """A scope that Keras asks for the value of every Keras variable that is read in it."""

    def __init__(self, reads: Reads):
        super().__init__(collect_losses=True)
        self._reads = reads

    def get_current_value(self, variable):
        """None, or the value of an outer scope.

        A new variable gets its first value here: a trace of a `tf.function`, which outlives this
        scope, would keep the numbers of its initializer.
        """
        self._reads.of_keras.append(variable)
        if variable._value is None:
            give_value(variable)
        outer = self.original_scope
        return None if outer is None else outer.get_current_value(variable)

    def add_update(self, update):
        """Ignores updates, since the results of this scope are discarded."""

    def add_loss(self, loss):
        """Notes that there is a loss; the results of this scope are discarded."""
        self._reads.adds_loss = True

    def __exit__(self, kind, error, traceback):
        """Gives new variables their values, but not after an error: that could hide it."""
        self.initialize_variables = kind is None
        super().__exit__(kind, error, traceback)


class _WideGradients(StatelessScope):
    """A scope that Keras asks for the value of every variable, to add up gradients in float32."""

    def __init__(self, variables):
        super().__init__()
        # A Keras variable tells its type wrongly where scopes say that it is not cast.
        values = {id(v): tf.convert_to_tensor(v.value) for v in variables}
        self._wide = {key: (widened(value), value.dtype) for key, value in values.items()}

    def get_current_value(self, variable):
        """The value, rounded from float32 wherever it is read; None for other variables."""
        if id(variable) in self._wide:
            return tf.cast(*self._wide[id(variable)])
        outer = self.original_scope
        return None if outer is None else outer.get_current_value(variable)

    def add_update(self, update):
        """Assigns at once, as if there were no scope."""
        variable, value = update
        variable._direct_assign(value)


def wide_gradients(variables) -> contextlib.AbstractContextManager:
    """While it is entered, gradients of Keras variables of 16 bits are rounded once.

    A tape adds up the gradients of a value that is read several times in its own type.
    """
    narrow = [v for v in variables if v.value.dtype in NARROW]
    return _WideGradients(narrow) if narrow else contextlib.nullcontext()


@contextlib.contextmanager
def recorded_reads():
    """Records which variables are read, and made. Changes of variables are discarded.

    Yields:
      `Reads`, complete at the end.
    """
    reads, before = Reads(), variables_without_value()

    def note(make, **kwargs):
        reads.made.append(make(**kwargs))
        return reads.made[-1]

    with tf.variable_creator_scope(note), tf.GradientTape() as tape, _ReadsOfKeras(reads):
        yield reads
    # Variables of before may have got their value, and so a `tf.Variable`.
    old = {id(part) for v in before for part in (v, v._value)}
    reads.made = [v for v in reads.made + variables_without_value() if id(v) not in old]
    # Under a distribution strategy a tape sees the copy of one replica.
    reads.of_tensorflow += [value_container(v) for v in tape.watched_variables()]


def check_reads(name: str, reads: Reads, run) -> None:
    """Raises ValueError if `run` makes variables, or reads variables that `reads` lacks.

    Args:
      name: The name of the vertex function that `run` calls, as it was called when `reads` was
        recorded.
    """
    with recorded_reads() as again:
        run()
    behind = [v._value for v in reads.of_keras]  # A variable may get its value last of all.
    known = {id(v) for v in (*reads.of_keras, *reads.of_tensorflow, *behind)}
    new = [v for v in again.of_keras if id(v) not in known]
    new = new or [v for v in (*again.of_tensorflow, *again.made) if id(v) not in known]
    if new:
        names = dict.fromkeys(getattr(v, "path", v.name) for v in new)
        raise ValueError(
            f"{name}: got new variables ({', '.join(names)}) whenever it runs but expected the "
            "same ones every time. Create layers and variables in __init__, or outside of the "
            "vertex function, and use them in it."
        )


def add_state(layer: keras.layers.Layer, name: str, value) -> None:
    """Sets an attribute that holds variables, although the layer may be built."""
    locked = layer._tracker.locked
    layer._tracker.unlock()
    try:
        setattr(layer, name, value)
    finally:
        if locked:
            layer._tracker.lock()


def track(layer: keras.layers.Layer, variables) -> None:
    """Makes `variables` weights of `layer`, for Keras and for `tf.train.Checkpoint`."""
    # A `tf.function` that was traced before reads a variable of Keras without asking Keras.
    known = {id(_storage(v)) for v in layer.variables}
    locked = layer._tracker.locked
    layer._tracker.unlock()
    try:
        for number, variable in enumerate(variables):
            if id(_storage(variable)) not in known:
                layer._track_variable(variable)
                layer._track_trackable(variable, f"read_{number}", overwrite=True)
    finally:
        if locked:
            layer._tracker.lock()

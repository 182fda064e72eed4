"""Everything that the package uses of Keras beyond its public interface.

Keras has no public way to ask whether a layer is being called for its shapes only. A part that
another version of Keras lacks raises an error where it is used, so that all else works.
"""

import contextlib
import importlib
import sys

import keras
import tensorflow as tf
from tensorflow.python.framework.func_graph import FuncGraph


class _Missing(type):
    """The type of the stand-in for a part that this Keras lacks: it cannot be used."""

    def __call__(cls, *args, **kwargs):
        part = cls.__mro__[-2].__name__  # `cls` may be a subclass of it.
        raise ImportError(
            f"cavs_tf: found Keras {keras.__version__}, which has no {part}, but "
            "expected Keras 3.12 to 3.15. Run `pip install 'keras>=3.12,<3.16'`."
        )

    def __getattr__(cls, name):
        if name.startswith("__"):  # Python asks for these.
            raise AttributeError(name)
        cls()


def _part(module: str, name: str):
    """A private part of Keras, or a stand-in that cannot be used."""
    try:
        return getattr(importlib.import_module(f"keras.src.{module}"), name)
    except (AttributeError, ImportError):
        return _Missing(f"keras.src.{module}.{name}", (), {})


compute_output_spec = _part("backend", "compute_output_spec")
_global_state = _part("backend.common", "global_state")
StatelessScope = _part("backend.common.stateless_scope", "StatelessScope")
in_stateless_scope = _part("backend.common.stateless_scope", "in_stateless_scope")
in_symbolic_scope = _part("backend.common.symbolic_scope", "in_symbolic_scope")
AutocastScope = _part("backend.common.variables", "AutocastScope")
default = _part("utils.python_utils", "default")
is_default = _part("utils.python_utils", "is_default")

# Attributes in which Keras keeps its bookkeeping of layers (also for TensorFlow's checkpoints), and
# of models that are trained.
_BOOKKEEPING = """
_allow_non_tensor_positional_args _auto_config _build_shapes_dict _call_context_args
_call_has_context_arg _call_has_mask_arg _call_has_training_arg _call_signature _called
_compile_config _compile_loss _compile_metrics _compiled_trainable_state _convert_input_args
_distribute_reduction_method _distribute_strategy _epoch_iterator _eval_epoch_iterator
_inbound_nodes _initial_epoch _input_spec _jit_compile _lock _loss_ids _loss_tracker _losses
_losses_override _metrics _obj_reference_counts_dict _outbound_nodes _parent_path _path
_run_eagerly _saved_model_arg_spec _saved_model_inputs_spec _self_name_based_restores
_self_saveable_object_factories _self_setattr_tracking
_self_unconditional_checkpoint_dependencies _self_unconditional_deferred_dependencies
_self_unconditional_dependency_names _self_update_uid _tracked _tracker build built
call_signature_parameters compiled history is_awq_calibrated is_gptq_calibrated loss optimizer
predict_function quantize steps_per_execution stop_evaluating stop_predicting stop_training
test_function train_function unrolled_steps_per_execution
"""
BOOKKEEPING = frozenset(_BOOKKEEPING.split())


def thread_state() -> dict:
    """Keras's state of the call that this thread is in: scopes, arguments, and so on."""
    return dict(vars(_global_state.GLOBAL_STATE_TRACKER))


def set_thread_state(state: dict) -> None:
    """Gives this thread the state of another, so that Keras takes it for part of that call."""
    vars(_global_state.GLOBAL_STATE_TRACKER).update(state)


def layers_called() -> tuple[str, ...]:
    """The names of the layers whose calls this thread is in, the outermost first."""
    scopes = _global_state.get_global_attribute("name_scope_stack") or ()
    return tuple(scope.name for scope in scopes)


def in_training() -> bool:
    """Whether this thread is in a call of a layer with `training=True`."""
    context = _global_state.get_global_attribute("current_call_ctx")
    return context is not None and context.get_value("training") is True


def labels_are_missing() -> bool:
    """Whether this is called in a step of `fit` or `evaluate` that was given inputs alone.

    Keras does not tell layers, and would say "None values not supported". A model with a loss of
    its own needs no labels.
    """
    steps = (keras.Model.train_step.__code__, keras.Model.test_step.__code__)
    frame = sys._getframe(1)
    while frame is not None and frame.f_code not in steps:
        frame = frame.f_back
    if frame is None or "data" not in frame.f_locals:
        return False
    model = frame.f_locals["self"]
    by_keras = type(model).compute_loss is keras.Model.compute_loss and model.loss is not None
    return by_keras and keras.utils.unpack_x_y_sample_weight(frame.f_locals["data"])[1] is None


def model_input_names() -> list[str]:
    """The inputs of the functional model that this thread calls, such as "left/token"."""
    context = _global_state.get_global_attribute("current_call_ctx")
    inputs = getattr(getattr(context, "entry_layer", None), "input", None)
    paths = keras.tree.flatten_with_path(inputs) if isinstance(inputs, dict) else []
    return ["/".join(map(str, path)) for path, _ in paths]


def variables_without_value() -> list:
    """Keras variables that were made while Keras asked for shapes only."""
    return list(_global_state.get_global_attribute("uninitialized_variables", []))


@contextlib.contextmanager
def forgotten_on_failure():
    """A scope: an exception in it makes Keras forget the variables that have no value yet.

    Keras would initialize them at the end of the next call for shapes, of whatever layer: the
    same error would be raised again, until the process ends.
    """
    before = variables_without_value()
    try:
        yield
    except BaseException:
        known = set(map(id, before))
        left = [variable for variable in variables_without_value() if id(variable) in known]
        _global_state.set_global_attribute("uninitialized_variables", left)
        raise


@contextlib.contextmanager
def in_users_code():
    """The scope `forgotten_on_failure`, in which Keras does not change exceptions either."""
    with forgotten_on_failure():
        try:
            yield
        except Exception as error:
            # Keras would add the arguments of the call to the text.
            with contextlib.suppress(AttributeError):
                error._keras_call_info_injected = True
            raise


class SelfContained(keras.layers.Layer):
    """A layer whose failure leaves nothing behind, and raises the error of the user's code."""

    def __call__(self, *args, **kwargs):
        with forgotten_on_failure():
            return super().__call__(*args, **kwargs)

    def compute_output_spec(self, *args, **kwargs):
        # The method of Keras would hide the error: "Could not automatically infer the output
        # shape".
        return compute_output_spec(self.call, *args, **kwargs)


@contextlib.contextmanager
def outside_of_functions():
    """A scope for making variables: a `tf.function` that is traced does not take them for its own.

    It would be traced again, to see that it does not make others whenever it runs.
    """

    def make(next_creator, **kwargs):
        return next_creator(**kwargs | {"experimental_enable_variable_lifting": False})

    with tf.init_scope(), tf.variable_creator_scope(make):
        yield


def give_value(variable: keras.Variable) -> None:
    """Gives its first value to a Keras variable that was made while Keras asked for shapes only."""
    scope = _global_state.get_global_attribute("stateless_scope")
    _global_state.set_global_attribute("stateless_scope", None)
    try:
        with AutocastScope(None), outside_of_functions():
            variable._deferred_initialize()
    finally:
        _global_state.set_global_attribute("stateless_scope", scope)
    others = [other for other in variables_without_value() if other is not variable]
    _global_state.set_global_attribute("uninitialized_variables", others)


def build_losses(model: keras.Model, minibatch) -> None:
    """Builds a compiled model's metrics and losses from the inputs and labels of one replica."""
    with model.distribute_strategy.scope():
        model._symbolic_build(data_batch=minibatch)


def asks_for_shapes() -> bool:
    """Whether Keras calls a layer only for the shapes of its results, so that values are ignored.

    Raises:
      NotImplementedError: In a `tf.function` that Keras calls for shapes: its trace would be kept,
        and would return the ignored values when it is called for results.
    """
    if not in_symbolic_scope():
        return False
    graph = tf.compat.v1.get_default_graph()
    # Graphs of control flow are instances of subclasses.
    while isinstance(graph, FuncGraph) and type(graph) is not FuncGraph:
        graph = graph.outer_graph
    # Keras's own graph has this name.
    if isinstance(graph, FuncGraph) and not graph.name.startswith("scratch_graph"):
        raise NotImplementedError(
            "call: got one in a tf.function while Keras asks for shapes but expected one outside "
            "of any. Remove @tf.function from what the model's call does, as fit, evaluate and "
            "predict compile all of it, or put it around what calls the model."
        )
    return True

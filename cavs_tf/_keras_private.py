"""What is needed of Keras beyond its public interface, in one place.

Keras has no public way to ask whether a layer is being called for its shapes only.
"""

import keras

try:
    from keras.src.backend import compute_output_spec as compute_output_spec
    from keras.src.backend.common.stateless_scope import StatelessScope as StatelessScope
    from keras.src.backend.common.stateless_scope import in_stateless_scope as in_stateless_scope
    from keras.src.backend.common.symbolic_scope import in_symbolic_scope as in_symbolic_scope
    from keras.src.utils.python_utils import is_default as is_default
except ImportError as error:
    raise ImportError(
        f"cavs_tf: found Keras {keras.__version__} but it works with Keras 3.15 ({error}). "
        "Run `pip install 'keras~=3.15.0'`."
    ) from error

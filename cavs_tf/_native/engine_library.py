"""The compiled engine, which needs no TensorFlow."""

try:
    from cavs_tf import _cavs_engine as library
except ImportError as error:
    raise ImportError(
        f"cavs_tf is not built: {error}. "
        "Run `make build` in a checkout, or else `pip install --no-build-isolation .`."
    ) from error

__all__ = ["library"]

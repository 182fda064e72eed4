"""Keeps workers from test to test, since most of their time goes into imports."""

import pytest
import tensorflow as tf

from benchmarks.crew import Crew


@pytest.fixture(scope="module")
def in_this_process():
    """Lets peers on TensorFlow run here, where numbers of threads can no longer change."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("set_intra_op_parallelism_threads", "set_inter_op_parallelism_threads"):
            patch.setattr(tf.config.threading, name, lambda threads: None)
        yield


@pytest.fixture(scope="session")
def kept_workers():
    """Takes names of peers and returns a function that starts workers in this order."""
    with pytest.MonkeyPatch.context() as fast, Crew() as crew:
        # Compiling without optimisation is faster for code that runs for a millisecond.
        fast.setenv("XLA_FLAGS", "--xla_backend_optimization_level=0")
        yield crew.starter

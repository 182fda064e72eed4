"""Workers that stay from test to test: most of the time goes into their imports."""

import pytest
import tensorflow as tf

from benchmarks.crew import Crew


@pytest.fixture(scope="module")
def in_this_process():
    """For peers on TensorFlow, whose numbers of threads cannot change once it runs."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("set_intra_op_parallelism_threads", "set_inter_op_parallelism_threads"):
            patch.setattr(tf.config.threading, name, lambda threads: None)
        yield


@pytest.fixture(scope="session")
def kept_workers():
    """Gives, for names of peers, a function that starts workers in this order."""
    with pytest.MonkeyPatch.context() as fast, Crew() as crew:
        # Code that runs for a millisecond need not be optimised for seconds.
        fast.setenv("XLA_FLAGS", "--xla_backend_optimization_level=0")
        yield crew.starter

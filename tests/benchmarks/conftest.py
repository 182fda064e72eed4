"""Workers that stay from test to test: most of the time goes into their imports."""

import pytest
import tensorflow as tf

from benchmarks import workers


class Kept:
    """A worker that nobody closes but the fixture."""

    def __init__(self, worker):
        self._worker = worker
        self.close = worker.stop

    def __getattr__(self, name):
        return getattr(self._worker, name)


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
    started = {}
    # Code that runs for a millisecond need not be optimised for seconds.
    fast = pytest.MonkeyPatch()
    fast.setenv("XLA_FLAGS", "--xla_backend_optimization_level=0")

    def starter(names):
        waiting = iter(names)

        def start(threads):
            name = next(waiting)
            if name not in started or not started[name].alive:
                started[name] = workers.Worker(threads)
            return Kept(started[name])

        return start

    yield starter
    fast.undo()
    for worker in started.values():
        worker.close()

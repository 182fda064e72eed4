"""TensorFlow Fold with schedules that are made once, before the steps."""

from benchmarks.peers import fold


class Peer(fold.Peer):
    """Takes the other options of `fold.Peer`."""

    def __init__(self, workload, threads, **options):
        super().__init__(workload, threads, cached=True, **options)

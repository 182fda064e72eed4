"""TensorFlow Fold with a loss for every vertex as output."""

from benchmarks.peers import fold


class Peer(fold.Peer):
    """Takes the other options of `fold.Peer`."""

    def __init__(self, workload, threads, **options):
        super().__init__(workload, threads, outputs="vertices", **options)

"""Keras's LSTM, compiled by XLA."""

from benchmarks.peers import _base, keras


class Peer(keras.Peer):
    """As `keras`, for sequences; XLA wants to know sizes, which differ with every tree."""

    jit_compile = True
    # XLA compiles anew for every length.
    padding_multiple = 8

    def __init__(self, workload, threads):
        if workload.layout == "trees":
            raise _base.Unsupported("XLA compiles anew for every minibatch of trees")
        super().__init__(workload, threads)

"""As for sentences: the model does not know that all sequences have one length."""

from benchmarks.peers.fold.models.var_lstm_per_vertex import block as block
from benchmarks.peers.fold.models.var_lstm_per_vertex import loss as loss

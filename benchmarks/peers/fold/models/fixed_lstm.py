"""As for sentences: the model does not know that all sequences have one length."""

from benchmarks.peers.fold.models.var_lstm import block as block
from benchmarks.peers.fold.models.var_lstm import loss as loss

"""The encoder-decoder; every word of the decoder has a loss of its own as an output."""

from benchmarks.fold import td
from benchmarks.fold.models import lstm
from benchmarks.fold.models.common import cross_entropy, total

loss = total


def block(w, units):
    """The losses of the words of the second sentence."""

    def encode(state, x):
        return lstm.cell(w, x, state, "encoder_")[0]

    def decode(word, state):
        x, label = word
        state, h = lstm.cell(w, x, state, "decoder_")
        return cross_entropy(w, h, label), state

    token = td.GetItem("token") >> td.Embedding(w["embedding"])
    source = td.GetItem("encoder_vertices") >> td.Map(token)
    label = td.GetItem("label") >> td.Scalar()
    target = td.GetItem("decoder_vertices") >> td.Map(td.AllOf(token, label))
    start = td.Zeros(td.TensorType((2 * units,)))
    read = source >> td.Fold(td.Function(encode), start)
    return td.AllOf(target, read) >> td.RNN(td.Function(decode)) >> td.GetItem(0)

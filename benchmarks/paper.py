"""The paper's claims about its results, as far as they can be compared with.

Its times are a GPU's, so only its conclusions can hold here. Claims are in our words; their
sources are sections, figures and tables of arXiv:1712.04048. DyNet, with which the paper compares
too, has no packages for today's Python, so claims about it alone are left out.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the paper, and where it stands."""

    text: str
    source: str


ORDER_OF_MAGNITUDE = Claim(
    "Cavs trains dynamic networks nearly ten times as fast as Fold", "abstract"
)
# At least this counts as nearly ten.
NEARLY_TEN = 5.0

FIXED_LSTM = Claim(
    "on sequences of one length a library's hand-tuned LSTM is the fastest",
    "section 5.1, Figure 8",
)
FIXED_LSTM_CLOSE = Claim(
    "on sequences of one length Cavs comes close to a library's LSTM", "section 5.1, Figure 8"
)
# At least this share of the library's speed counts as close.
CLOSE = 0.67
VAR_LSTM = Claim(
    "on sequences of different lengths Cavs is faster than a static framework, which pads them",
    "section 5.1, Figure 8",
)
TREES_FOLD = Claim("on trees Cavs is faster than Fold", "section 5.1, Figure 8")

SMALL_CONSTRUCTION = Claim(
    "graphs take Cavs a small share of the time, whatever their size and the minibatch's",
    "section 5.2, Figure 9",
)
# At most this counts as small.
SMALL_SHARE = 0.1
LARGE_CONSTRUCTION = Claim(
    "Fold spends a larger share of its time on constructing graphs than Cavs",
    "section 5.2, Figure 9",
)

CONSTRUCTION = Claim(
    "Cavs is faster than Fold in the construction of graphs", "section 5.2, Table 1"
)
COMPUTATION = Claim("Cavs is faster than Fold in the computation", "section 5.2, Table 1")
FOLD_THREADS = Claim("Fold constructs graphs faster with more threads", "section 5.2, Table 1")

EACH_OPTIMISATION = Claim(
    "fusion, lazy batching and streaming make training faster, each by itself",
    "section 5.3, Figure 10",
)
STREAMING = Claim("streaming gains more on Fixed-LSTM than on Tree-LSTM", "section 5.3, Figure 10")

MEMORY = Claim(
    "Cavs spends less time on memory operations than DyNet, in training and in inference",
    "section 5, Table 2",
)

"""Which operators only move rows, and which compute, by their names in profiles.

The paper calls the first memory operations: gathers and scatters, copies, concatenation.
"""

import re

_MOVES = {
    "cavs": r"(gather|push|pull|scatter|concat|split|slice|pack|copy)",
    "tensorflow": (
        r"(Resource|_Mkl|Inplace)?(Gather|Scatter|Concat|Split|Slice|StridedSlice|Pack|Unpack|"
        r"Transpose|Tile|Pad|Reverse|Fill|ZerosLike|UnsortedSegmentSum|Tensor(Array|List|Scatter)|Dynamic)"
    ),
    "torch": (
        r"aten::(_?index|gather|scatter|cat\b|stack|_?copy|clone|embedding|_pack|_pad|repeat|"
        r"flip|fill|zero)"
    ),
}
# Operators of neither kind: they hand over values that exist, or wait for others.
_BOOKKEEPING = {
    "cavs": r"(prologue|eager|lazy|epilogue|task \d+): ",
    "tensorflow": (
        r"(Cavs|_?Arg|_?Retval|Const|Enter|Exit|Identity|Iterator|LoopCond|Merge|NextIteration|"
        r"NoOp|Partitioned|Placeholder|Prefetch|Range|Read|Reshape|Shape|Stateful|Switch|While|"
        r"_Recv|_Send|ExpandDims|Squeeze|If)"
    ),
    "torch": (
        r"(?!aten::)|aten::(alias|as_strided|chunk|contiguous|detach|empty|expand|item|lift|"
        r"narrow|new_|ones|permute|reshape|resize|resolve|result|select\b|set_|slice|split|squeeze|"
        r"t\b|to\b|_to_|transpose|unbind|unsafe_|unsqueeze|view|_local|_reshape|_unsafe|is_)"
    ),
}


def memory_share(timed) -> float | None:
    """The time of operators that move rows, as a share of that of those that move rows or compute.

    Args:
      timed: (kind, name, seconds) of operators, without what they called. The kinds are
        "cavs", "tensorflow" and "torch".
    """
    moves = computes = 0.0
    for kind, name, seconds in timed:
        if re.match(_MOVES[kind], name):
            moves += seconds
        elif not re.match(_BOOKKEEPING[kind], name):
            computes += seconds
    return moves / (moves + computes) if moves + computes else None

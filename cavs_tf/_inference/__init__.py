"""What the tensors of a traced vertex function are: inferred, operator by operator."""

from cavs_tf._inference.abstract import Abstract, Kind, constant, invariant, is_numeric
from cavs_tf._inference.analysis import (
    Analysis,
    coupled_message,
    live_operations,
    rows_of,
)
from cavs_tf._inference.rules import has_rule

__all__ = [
    "Abstract",
    "Analysis",
    "Kind",
    "constant",
    "coupled_message",
    "has_rule",
    "invariant",
    "is_numeric",
    "live_operations",
    "rows_of",
]

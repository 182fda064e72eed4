"""Infers how the tensors of a traced vertex function depend on rows, operator by operator."""

from cavs_tf._tracing.inference.abstract import Kind, Space, is_numeric
from cavs_tf._tracing.inference.analysis import (
    Analysis,
    abstract_rows,
    coupled_message,
    live_operations,
)
from cavs_tf._tracing.inference.execution import run_operator
from cavs_tf._tracing.inference.functions import graph_of
from cavs_tf._tracing.inference.rules import has_rule

VERTICES, EDGES = Space.VERTICES, Space.EDGES

__all__ = [
    "EDGES",
    "VERTICES",
    "Analysis",
    "Kind",
    "abstract_rows",
    "coupled_message",
    "graph_of",
    "has_rule",
    "is_numeric",
    "live_operations",
    "run_operator",
]

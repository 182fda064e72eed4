"""Rewrites operators on rows of any rank as operators on vectors, which have native kernels."""

from cavs_tf._decomposition.decompose import decompose_operators

__all__ = ["decompose_operators"]

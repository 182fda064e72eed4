"""Calls of the C++ ops with traced functions."""

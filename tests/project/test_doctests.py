"""Runs the examples of all docstrings."""

import doctest
import importlib
import pkgutil

import pytest

import cavs_tf


def modules():
    yield "cavs_tf"
    for found in pkgutil.walk_packages(cavs_tf.__path__, "cavs_tf."):
        if found.name != "cavs_tf._cavs_ops":  # The op library is not a Python module.
            yield found.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_examples_are_found():
    tests = doctest.DocTestFinder().find(importlib.import_module("cavs_tf.graphs._graph_batch"))
    assert sum(len(test.examples) for test in tests) > 10

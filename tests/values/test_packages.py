"""Packages that are not installed."""

import sys

import pytest

import cavs_tf as cavs


@pytest.mark.parametrize(
    "package, call",
    [
        ("conllu", lambda path: cavs.data.conllu_trees(path)),
        ("networkx", lambda path: cavs.GraphBatch.chain([2]).to_networkx()),
    ],
)
def test_a_package_that_is_not_installed_is_named(monkeypatch, tmp_path, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    path = tmp_path / "file"
    path.write_text("")
    message = rf"^\w+: got no package '{package}' .* Run `pip install {package}`\.$"
    with pytest.raises(ImportError, match=message):
        call(path)

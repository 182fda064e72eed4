"""What a release says of itself is the same everywhere."""

import pathlib
import re

import cavs_tf as cavs

ROOT = pathlib.Path(__file__).parents[1]


def test_the_citation_has_the_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", text, re.M).group(1) == cavs.__version__


def test_the_newest_section_of_the_changelog_is_of_the_version():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest.group(1) == cavs.__version__


def test_type_checkers_may_read_the_package():
    assert (ROOT / "cavs_tf" / "py.typed").exists()

"""What a release says of itself is the same everywhere."""

import pathlib
import re

import cavs_tf as cavs

ROOT = pathlib.Path(__file__).parents[2]


def test_citation_and_changelog_have_the_version_and_its_date():
    citation, changelog = ((ROOT / name).read_text() for name in ("CITATION.cff", "CHANGELOG.md"))
    cited = re.search(r"^version: (.*)\ndate-released: (.*)$", citation, re.M).groups()
    newest = re.search(r"^## (\S+) \((.*)\)$", changelog, re.M).groups()
    assert cited == newest
    assert cited[0] == cavs.__version__


def test_type_checkers_may_read_the_package():
    assert (ROOT / "cavs_tf" / "py.typed").exists()


# What 0.1.0 promises: names here stay, with what they mean, until a version says otherwise.
PROMISED = pathlib.Path(__file__).with_name("public_names.txt").read_text().split()
PUBLIC = (
    cavs,
    cavs.data,
    cavs.engine,
    cavs.inspect,
    cavs.keras,
    cavs.ops,
    cavs.plot,
    cavs.reference,
)


def names_of(module) -> list[str]:
    """The names that a module has for users: those in `__all__`, or what a package imports."""
    own = getattr(module, "__all__", None)
    if own is None:
        text = pathlib.Path(module.__file__).read_text()
        own = re.findall(r"import (\w+) as \1$", text, re.M)
    return own


def test_public_names_are_those_that_are_promised():
    shown = {module: module.__name__.replace("cavs_tf.inspect.", "cavs_tf.") for module in PUBLIC}
    found = {f"{shown[module]}.{name}" for module in PUBLIC for name in names_of(module)}
    assert sorted(found) == sorted(PROMISED)


def test_public_names_are_there():
    for name in PROMISED:
        *path, last = name.split(".")[1:]
        owner = cavs
        for part in path:
            owner = getattr(owner, part)
        assert hasattr(owner, last), name

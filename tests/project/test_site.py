"""The site that `make docs` builds is complete, has no dead links, and needs no network."""

import importlib
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

import cavs_tf as cavs

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"
MARKDOWN = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
# What a browser fetches by itself, and links to other pages.
FETCHED = re.compile(
    r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=\"?((?:https?:)?//[^\s\">]+)"
)
LINK = re.compile(r"<a\b[^>]*?href=\"?(?!https?:)([^\s\"#>]+)")


def public_names(module):
    """What its __init__ imports for users, and not for itself: `from ... import name as name`."""
    text = pathlib.Path(module.__file__).read_text()
    return [f"{module.__name__}.{name}" for name in re.findall(r"import (\w+) as \1$", text, re.M)]


@pytest.mark.parametrize("module", [cavs, cavs.keras, cavs.data], ids=lambda m: m.__name__)
def test_the_reference_has_every_public_name(module):
    pages = [page.read_text() for page in (DOCS / "reference").glob("*.md")]
    shown = set(re.findall(r"^(?:::: |      heading: )([\w.]+)$", "\n".join(pages), re.M))
    # On pages of their own; a number.
    shown |= {"cavs_tf.Engine", "cavs_tf.plot", "cavs_tf.reference", "cavs_tf.__version__"}
    assert [name for name in public_names(module) if name not in shown] == []


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    named = re.findall(r"([\w/]+\.md)$", navigation, re.M)
    assert [page for page in pages if page not in named] == []


def without_programs(page):
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)


def headings(page):
    """What links to headings of a page call them."""
    found = re.findall(r"^#+ (.*)", without_programs(page), re.M)
    words = [re.sub(r"[^\w\s-]", "", heading) for heading in found]
    return [re.sub(r"[-\s]+", "-", heading.strip().lower()) for heading in words]


@pytest.mark.parametrize("page", [*MARKDOWN, *DOCS.rglob("*.ipynb")], ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", without_programs(page)):
        name, _, heading = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not heading or heading in headings(target), link


# A file or folder of the checkout, from its root.
PATH = re.compile(r"`((?:cc|cavs_tf|tests|benchmarks|python|tools|docs)/[\w/.]+)`")


def test_pages_name_files_that_are_there():
    named = [(page.name, path) for page in MARKDOWN for path in PATH.findall(page.read_text())]
    assert len(named) > 100
    # NAME is the reader's to choose; the library is built.
    real = [(page, path) for page, path in named if "NAME" not in path and ".so" not in path]
    assert [(page, path) for page, path in real if not (ROOT / path).exists()] == []


@pytest.mark.skipif(
    not importlib.util.find_spec("mkdocs"), reason="MkDocs is not installed: run `make docs` first."
)
def test_the_site_has_no_dead_links_and_fetches_nothing_from_elsewhere(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", f"--site-dir={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = [page for page in tmp_path.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 10
    for page in pages:
        text = page.read_text()
        assert (page, FETCHED.findall(text)) == (page, [])
        dead = [link for link in set(LINK.findall(text)) if not (page.parent / link).exists()]
        assert (page, dead) == (page, [])

"""The site that `make docs` builds is complete, has no dead links, and needs no network."""

import importlib
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

import cavs_tf as cavs
from cavs_tf.graphs._options import ALL_PASSES
from cavs_tf.graphs._schedule import POLICIES

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


def test_the_page_of_passes_names_all_that_can_be_left_out():
    rows = re.findall(r"^\| `.*\| (.*) \|$", (DOCS / "how/passes.md").read_text(), re.M)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == set(ALL_PASSES)


def test_the_page_of_schedules_names_all_policies():
    named = re.findall(r'^\| `"(\w+)"` ', (DOCS / "how/schedules.md").read_text(), re.M)
    assert named == list(POLICIES)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages of the site that is built."""
    if not importlib.util.find_spec("mkdocs"):
        pytest.skip("MkDocs is not installed: run `make docs` first.")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", f"--site-dir={folder}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = [page for page in folder.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 10
    return pages


def without_blocks(page):
    """The article of a page, without programs and equations."""
    article = re.search(r"<article.*?</article>", page.read_text(), re.S)[0]
    return re.sub(r"<pre>.*?</pre>", "", article, flags=re.S)


def test_the_site_has_no_dead_links_and_fetches_nothing_from_elsewhere(site):
    for page in site:
        text = page.read_text()
        assert (page, FETCHED.findall(text)) == (page, [])
        dead = [link for link in set(LINK.findall(text)) if not (page.parent / link).exists()]
        assert (page, dead) == (page, [])


# Elements that Markdown, mkdocstrings and the theme make.
ELEMENTS = re.compile(
    r"a|article|b|br|button|code|div|em|form|h\d|hr|img|li|nav|ol|p|path|pre|small|span|strong|svg"
    r"|t(able|body|d|h|head|r)|ul"
)


def test_no_word_in_brackets_becomes_an_element(site):
    """`gradient of <weight>` without backquotes loses a word."""
    for page in site:
        found = re.findall(r"<([a-zA-Z][\w-]*)", without_blocks(page))
        unknown = [name for name in found if not ELEMENTS.fullmatch(name)]
        assert (page.name, unknown) == (page.name, [])


def test_indented_lines_of_docstrings_are_blocks_or_lists(site):
    for page in (page for page in site if page.parent.name == "reference"):
        paragraphs = re.findall(r"<p>(.*?)</p>", without_blocks(page), re.S)
        joined = [text for text in paragraphs if re.search(r"\n {2,}\S", text)]
        assert (page.name, joined) == (page.name, [])


def test_the_reference_shows_no_private_names(site):
    sources = [file.read_text() for file in (ROOT / "cavs_tf").rglob("*.py")]
    classes = set(re.findall(r"^class (\w+)", "\n".join(sources), re.M))
    reference = [page for page in site if page.parent.name == "reference"]
    # Entries, some with the pages of their modules.
    shown = set(re.findall(r'id="[\w.]*?(\w+)"', "".join(page.read_text() for page in reference)))
    for page in reference:
        text = without_blocks(page)
        named = set(re.findall(r"<code>(?:\w+\.)*(\w+)(?:\([^<]*)?</code>", text))
        assert (page.name, named & (classes - shown)) == (page.name, set())
        signatures = re.sub(r"<[^>]+>", "", page.read_text())
        assert (page.name, re.findall(r"\w+=_?[A-Z]{2,}\w*", signatures)) == (page.name, [])


def test_the_reference_does_not_take_half_a_sentence_for_what_is_returned(site):
    for page in site:
        assert (page.name, re.findall(r"Returns:</span>\s*</p>", page.read_text())) == (
            page.name,
            [],
        )

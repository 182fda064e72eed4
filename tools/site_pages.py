"""Pages of the site that are no Markdown files in docs/: a hook of MkDocs (mkdocs.yml)."""

import json
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parents[1]
# Files, and the pages that they are.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "CHANGELOG.md": "reference/changelog.md",
    "docs/start/first_steps.ipynb": "start/first_steps.md",
}
FILES = {page: name for name, page in PAGES.items()}
LINK = re.compile(r"\]\(([\w./-]+\.(?:md|ipynb))")


def on_files(files, config):
    for name, page in PAGES.items():
        text = (ROOT / name).read_text()
        if name.endswith(".ipynb"):
            text = markdown_of(json.loads(text))
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    """Makes links to files links to pages; the page of a notebook has a link to the notebook."""
    mine = page.file.src_uri
    name = FILES.get(mine, f"docs/{mine}")

    def page_of(link):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link[1]))
        if target == name:
            return link[0]
        target = PAGES.get(target, target.removeprefix("docs/"))
        return f"]({posixpath.relpath(target, posixpath.dirname(mine) or '.')}"

    return LINK.sub(page_of, markdown)


def markdown_of(notebook):
    def block(kind, lines):
        return f"```{kind}\n{''.join(lines).rstrip()}\n```"

    parts = []
    for cell in notebook["cells"]:
        is_code = cell["cell_type"] == "code"
        parts.append(block("python", cell["source"]) if is_code else "".join(cell["source"]))
        parts += [block("", output["text"]) for output in cell.get("outputs", [])]
    return "\n\n".join(parts)

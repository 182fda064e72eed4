"""Pages of the site that are no Markdown files in docs/: a hook of MkDocs (mkdocs.yml)."""

import json
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parents[1]
# Files, and the pages that they are.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "first_steps.ipynb": "first_steps.md",
}
LINK = re.compile(rf"\]\((?:\.\./|docs/)?({'|'.join(map(re.escape, PAGES))})")


def on_files(files, config):
    for name, page in PAGES.items():
        if name.endswith(".ipynb"):
            text = markdown_of(json.loads((ROOT / "docs" / name).read_text()))
        else:
            text = (ROOT / name).read_text()
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    """Makes links to files links to pages; the page of a notebook has a link to the notebook."""

    def page_of(link):
        mine = PAGES[link[1]] == page.file.src_uri
        return link[0] if mine else f"]({PAGES[link[1]]}"

    return LINK.sub(page_of, markdown).replace("](docs/", "](")


def markdown_of(notebook):
    def block(kind, lines):
        return f"```{kind}\n{''.join(lines).rstrip()}\n```"

    parts = []
    for cell in notebook["cells"]:
        is_code = cell["cell_type"] == "code"
        parts.append(block("python", cell["source"]) if is_code else "".join(cell["source"]))
        parts += [block("", output["text"]) for output in cell.get("outputs", [])]
    return "\n\n".join(parts)

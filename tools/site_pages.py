"""Pages of the site that are no files in docs/: a hook of MkDocs (mkdocs.yml)."""

import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parents[1]
# Files beside docs/, and the pages that they are.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}


def on_files(files, config):
    for name, page in PAGES.items():
        text = (ROOT / name).read_text().replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, **_):
    """Makes links between those files and docs/ links between pages."""

    def page_of(link):
        return f"]({PAGES[link[1]]}" if link[1] in PAGES else link[0]

    return re.sub(r"\]\((?:\.\./)?([A-Z]+\.md)", page_of, markdown)

"""Docstrings for the site: an extension of Griffe, which reads them for the reference.

Our docstrings have examples wherever they explain most, as doctest finds them, and Markdown would
take `>>>` for quotations. They name pages as files of the checkout.
"""

import re

import griffe

# Lines from the first `>>>` to the next empty one, and the word above them.
EXAMPLE = re.compile(r"^(?:Example:\n+)?((?:>>> .*\n?)(?:.+\n?)*)", re.MULTILINE)
PAGE = re.compile(r"`?docs/([\w/]+)\.md`?")


class SiteDocstrings(griffe.Extension):
    def on_object(self, *, obj, **_):
        if obj.docstring:
            text = EXAMPLE.sub(_block, obj.docstring.value)
            obj.docstring.value = PAGE.sub(r"[docs/\1.md](../\1.html)", text)


def _block(example):
    return f"\n```pycon\n{example[1].rstrip()}\n```\n"

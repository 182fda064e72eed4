"""Docstrings for the site: an extension of Griffe, which reads them for the reference.

Docstrings are written to be read in an editor. Markdown would take `>>>` for a quotation, join the
lines of an equation, and know no list of call arguments or weights. Griffe would take the first
half of a sentence below "Returns:" for a name. So these parts become Markdown here. They name pages
as files of the checkout.
"""

import re
import textwrap

import griffe

# Lines from the first `>>>` to the next empty one, and the word above them.
EXAMPLE = re.compile(r"^(?:Example:\n+)?((?:>>> .*\n?)(?:.+\n?)*)", re.MULTILINE)
PAGE = re.compile(r"`?docs/([\w/]+)\.md`?")
# A line, perhaps an empty one, and the indented lines below it.
INDENTED = re.compile(r"^([^\s>.].*)\n(\n?)((?: {2,}.*(?:\n|$)|\n(?= ))+)", re.MULTILINE)
# Sections that Griffe reads.
SECTIONS = ("Args:", "Raises:", "Attributes:")
ITEM = re.compile(r"^([*\w.]+(?:, [*\w.]+)*): ", re.MULTILINE)
# Methods that Keras calls, not users.
HOOKS_OF_KERAS = ("compute_output_shape", "add_weight", "apply")


class SiteDocstrings(griffe.Extension):
    def on_object(self, *, obj, **_):
        if obj.name in HOOKS_OF_KERAS:
            obj.docstring = None  # Such objects have no entry.
        if obj.docstring:
            # Every second part is an example.
            parts = EXAMPLE.split(obj.docstring.value)
            parts[::2] = [INDENTED.sub(_indented, part) for part in parts[::2]]
            parts[1::2] = [f"\n```pycon\n{example.rstrip()}\n```\n" for example in parts[1::2]]
            text = "".join(parts)
            obj.docstring.value = PAGE.sub(r"[docs/\1.md](../\1.html)", text)

    def on_function(self, *, func, **_):
        for parameter in func.parameters:
            parameter.default = _default(str(parameter.default)) if parameter.default else None


def _default(text):
    """Constants of ours mean nothing to a reader: what "default" names, and nothing given."""
    return {"DEFAULT": "'default'", "_OF_CLASS": "..."}.get(text, text)


def _indented(match):
    above, empty, block = match.groups()
    block = textwrap.dedent(block).strip("\n")
    if above in SECTIONS:
        return _with_lists(match[0])
    if above == "Returns:":
        text = INDENTED.sub(_indented, block)
        return f'<span class="doc-section-title">Returns:</span> {text}\n\n'
    if empty:  # Equations, or a program.
        return f"{above}\n\n```text\n{block}\n```\n\n"
    return f"{_title(above)}\n\n{_list(block)}\n\n"


def _title(line):
    title = re.match(r"(Call arguments|Weights)[^.]*:$", line)
    return f'<span class="doc-section-title">{line}</span>' if title else line


def _list(block):
    """A list of names and what they are, as Griffe's sections look."""
    items = textwrap.indent(ITEM.sub(r"- **`\1`** &ndash; ", block), "    ")
    return re.sub(r"^    - ", "- ", items, flags=re.MULTILINE)


def _with_lists(section):
    """Markdown wants an empty line before a list within an item of a section."""
    return re.sub(r"^( +)(?!- )(\S.*\n)(?=\1- )", r"\1\2\n", section, flags=re.MULTILINE)

"""Results as tables of text, for the terminal and for a page."""

import dataclasses
import html


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of {column: text} by the name of the row; missing texts are shown as a dash.

    Attributes:
      title: The title over the names of the rows.
      columns: The names of the columns.
      rows: The texts by row and column.
    """

    title: str
    columns: list[str]
    rows: dict[str, dict[str, str]]

    def print(self) -> None:
        """Prints to the terminal, names at the left and texts at the right."""
        lines = self._lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            first, *rest = (text.ljust(width) for text, width in zip(line, widths, strict=True))
            print("  ".join([first, *(text.strip().rjust(len(text)) for text in rest)]))

    def html(self) -> str:
        """The table in HTML, for a page."""
        head, *body = (
            "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in line)
            for tag, line in zip(["th", *["td"] * len(self.rows)], self._lines(), strict=True)
        )
        rows = "".join(f"<tr>{row}</tr>" for row in (head, *body))
        return f'<div class="scroll"><table>{rows}</table></div>'

    def markdown(self) -> str:
        """The table in Markdown, for a page."""
        head, *body = self._lines()
        rule = ["---"] * len(head)
        return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))

    def _lines(self) -> list[list[str]]:
        rows = [
            [name, *(texts.get(column, "-") for column in self.columns)]
            for name, texts in self.rows.items()
        ]
        return [[self.title, *self.columns], *rows]


def by_cell(records) -> dict:
    """A row for each cell, with the rate of a system in each column."""
    rows: dict = {}
    for record in records:
        rows.setdefault(cell_name(record), {})[record.system] = shown(record, rate)
    return rows


def rate(record) -> str:
    """Graphs per second, and the share of the floor."""
    return f"{record.per_second:,.0f}{_share(record)}"


def _share(record) -> str:
    return "" if record.share_of_floor is None else f" ({record.share_of_floor:.0%})"


def shown(record, text) -> str:
    """text(record), or a word on why there is no figure; `errors` says more."""
    if record.error is None:
        return text(record)
    if record.error.startswith("Unsupported"):
        return "-"
    return "not installed" if record.error.startswith("ModuleNotFoundError") else "failed"


def cell_name(record) -> str:
    """The name of a cell in a few words."""
    mode = "" if record.mode == "training" else f", {record.mode}"
    return f"{record.workload} h={record.units} batch {record.batch}{mode}"


def errors(records) -> list[str]:
    """A line for every system that did not run and each reason, with the first such cell."""
    reasons: dict = {}
    for record in records:
        if record.error is not None:
            reasons.setdefault(f"{record.system}: {record.error}", cell_name(record))
    return [f"{reason} ({first})" for reason, first in reasons.items()]


def print_errors(records) -> None:
    """Prints these lines."""
    for line in errors(records):
        print(line)

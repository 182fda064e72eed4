"""Results as text."""


def print_table(title: str, rows: dict, columns: list[str]) -> None:
    """Prints rows of {column: text} by the name of the row; what is missing is a dash."""
    header = [title, *columns]
    lines = [
        [name, *(cells.get(column, "-") for column in columns)] for name, cells in rows.items()
    ]
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    for line in [header, *lines]:
        first, *rest = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join([first, *(text.strip().rjust(len(text)) for text in rest)]))


def by_cell(records) -> dict:
    """Rows for `print_table`: a cell in each, a system in each column."""
    rows: dict = {}
    for record in records:
        rows.setdefault(cell_name(record), {})[record.system] = rate(record)
    return rows


def rate(record) -> str:
    """Graphs per second and the share of the floor."""
    return _with_share(record, lambda: f"{record.per_second:,.0f}")


def time(record) -> str:
    """Time of a minibatch and the share of the floor."""
    return _with_share(record, lambda: f"{1e3 * record.batch / record.per_second:,.2f} ms")


def _with_share(record, figure) -> str:
    if record.error is not None:
        return failure(record)
    share = "" if record.share_of_floor is None else f" ({record.share_of_floor:.0%})"
    return figure() + share


def failure(record) -> str:
    """A word for why there is no figure; `print_errors` says more."""
    if record.error.startswith("Unsupported"):
        return "-"
    return "not installed" if record.error.startswith("ModuleNotFoundError") else "failed"


def cell_name(record) -> str:
    """A few words."""
    mode = "" if record.mode == "training" else f", {record.mode}"
    return f"{record.workload} h={record.units} batch {record.batch}{mode}"


def print_errors(records) -> None:
    """A line for every system that did not run, for each reason once."""
    reasons = {f"{r.system}: {r.error}": cell_name(r) for r in records if r.error is not None}
    for reason, first in reasons.items():
        print(f"{reason} ({first})")

"""One self-contained page from a folder of results: machine, versions, figures, findings.

python -m benchmarks.report build/compare/mine
"""

import argparse
import base64
import html
import json
import pathlib
import shlex
import sys

from benchmarks import figures, machine, records, tables

_STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
th, td { border: 1px solid #ccc; padding: 2px 8px; text-align: right; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; }
code { background: #eee; padding: 0 3px; }
.scroll { overflow-x: auto; }
.agrees { border-left: 4px solid #4c9f70; padding-left: 1em; }
.part { border-left: 4px solid #d9a22b; padding-left: 1em; }
.not { border-left: 4px solid #c0392b; padding-left: 1em; }
.unknown { border-left: 4px solid #9aa0a6; padding-left: 1em; }
"""
_CLASSES = {
    "agrees": "agrees",
    "agrees in part": "part",
    "does not agree": "not",
    "cannot be said": "unknown",
}


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="with figure8.json and the like")
    parser.add_argument("--html", type=pathlib.Path, help="the page; none: report.html in it")
    arguments = parser.parse_args(argv)
    try:
        page = write(arguments.folder, arguments.html or arguments.folder / "report.html")
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"wrote {page}")
    return 0


def write(folder: pathlib.Path, page: pathlib.Path) -> pathlib.Path:
    """Writes the page; returns its path.

    Raises:
      ValueError: If the folder has no results.
    """
    found = [figures.make(name) for name in figures.NAMES if (folder / f"{name}.json").exists()]
    if not found:
        expected = ", ".join(f"{name}.json" for name in figures.NAMES)
        raise ValueError(f"{folder}: got no results but expected some of {expected}.")
    rows = {figure: records.read(folder / f"{figure.name}.json") for figure in found}
    measured = [record for own in rows.values() for record in own]
    parts = [
        "<h1>Cavs on the CPU: the paper's results, regenerated</h1>",
        _summary(rows),
        _about(folder),
        _systems(measured),
        _disturbed(measured),
        *(_section(folder, figure, own) for figure, own in rows.items()),
    ]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Cavs on the CPU</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n",
        encoding="utf-8",
    )
    return page


def _summary(rows) -> str:
    found = [finding for figure, own in rows.items() for finding in figure.findings(own)]
    counts = {verdict: sum(f.verdict == verdict for f in found) for verdict in _CLASSES}
    words = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    return (
        f"<p>Of {len(found)} statements of the paper (arXiv:1712.04048), compared with what was "
        f"measured: {words}. The paper's times are those of a GPU; what it concludes from them "
        "is compared with times of a CPU. How it is measured, and what makes it fair, says "
        "<code>benchmarks/README.md</code>.</p>"
    )


def _about(folder) -> str:
    abouts = []
    for path in sorted(folder.glob("*.machine.json")):
        about = json.loads(path.read_text())
        if about not in abouts:
            abouts.append(about)
    lines = []
    for about in abouts:
        facts = about["machine"] | {"commit": about["commit"]}
        facts |= {f"data: {name}": value for name, value in about["data"].items()}
        lines.append(_table("", "value", facts))
        lines.append(f"<p>Measured with <code>{_text(shlex.join(about['command']))}</code></p>")
    return "<h2>Machine and command</h2>" + "".join(lines)


def _systems(measured) -> str:
    """The versions of systems, and which of them have no figures."""
    versions = {r.system: r.version for r in measured if r.version}
    listed = "".join(f"<li>{_text(line)}</li>" for line in sorted(tables.errors(measured)))
    failed = f"<p>Without figures:</p><ul>{listed}</ul>" if listed else ""
    return "<h2>Systems</h2>" + _table("system", "version", dict(sorted(versions.items()))) + failed


def _disturbed(measured) -> str:
    busy = {r.cell: r.busy_share for r in measured if r.busy_share is not None}
    worst = max(busy.values(), default=0.0)
    disturbed = sum(share >= machine.BUSY for share in busy.values())
    if not disturbed:
        return "<p>Other work left the machine alone during the measurements.</p>"
    return (
        f"<p><b>The machine was busy</b> in {disturbed} of {len(busy)} cells: other work and the "
        f"hypervisor had up to {worst:.0%} of the CPU time. Those figures are rough.</p>"
    )


def _section(folder, figure, rows) -> str:
    parts = [f"<h2>{_text(figure.title)}</h2>"]
    for finding in figure.findings(rows):
        parts.append(f'<p class="{_CLASSES[finding.verdict]}">{_text(str(finding))}</p>')
    picture = folder / f"{figure.name}.png"
    if picture.exists():
        data = base64.b64encode(picture.read_bytes()).decode()
        parts.append(f'<img alt="{_text(figure.title)}" src="data:image/png;base64,{data}">')
    parts += [table.html() for table in figure.tables(rows)]
    again = f"python -m benchmarks.compare --figures={figure.name}"
    return "".join(parts) + f"<p>Again: <code>{again}</code></p>"


def _table(title: str, column: str, values: dict) -> str:
    return tables.Table(title, [column], {n: {column: str(v)} for n, v in values.items()}).html()


def _text(value) -> str:
    return html.escape(str(value))


if __name__ == "__main__":
    sys.exit(main())

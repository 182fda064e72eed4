"""Runs the cells of a notebook in order and prints what each of them prints, as JSON.

    python -m tests.helpers.notebook docs/start/first_steps.ipynb

They print and show nothing else, so this needs no Jupyter, and none of what a kernel of it needs.
"""

import contextlib
import io
import json
import pathlib
import sys


def cells_of(notebook: dict) -> list[dict]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed_by(cell: dict) -> str:
    """What the notebook says that a cell prints."""
    return "".join(line for output in cell["outputs"] for line in output["text"])


def outputs_of(notebook: dict) -> list[str]:
    names, outputs = {"__name__": "__main__"}, []
    for number, cell in enumerate(cells_of(notebook), start=1):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        outputs.append(printed.getvalue())
    return outputs


if __name__ == "__main__":
    print(json.dumps(outputs_of(json.loads(pathlib.Path(sys.argv[1]).read_text()))))

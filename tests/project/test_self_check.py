"""`python -m cavs_tf`."""

import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import __main__ as program
from tests.helpers import processes


def test_prints_what_a_report_of_a_fault_needs(tmp_path):
    done, text, error = processes.run_script("cavs_tf", (), tmp_path)
    assert done, error
    lines = dict(line.split(":", 1) for line in text.splitlines())
    printed = {name: value.strip() for name, value in lines.items()}
    assert printed["TensorFlow"] == tf.__version__
    assert printed["cavs_tf"].startswith(cavs.__version__)
    assert printed["instruction set"] in ("portable", "avx2", "avx512", "avx512bf16")
    assert printed["self-check"].startswith("passed in ")


def test_a_wrong_result_is_printed_and_the_status_says_so(monkeypatch, capsys):
    run = cavs.keras.TreeLSTMCell.__call__
    monkeypatch.setattr(
        cavs.keras.TreeLSTMCell, "__call__", lambda *args, **kwargs: 1.01 * run(*args, **kwargs)
    )
    assert program.main() == 1
    printed = capsys.readouterr().out
    assert "self-check:       FAILED" in printed
    assert "DIFFERENT from the reference" in printed

"""`python -m cavs_tf`."""

import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import __main__ as program
from tests.helpers import processes


@pytest.mark.in_turns
def test_prints_what_a_report_of_a_fault_needs(tmp_path):
    done, text, error = processes.run_script("cavs_tf", (), tmp_path)
    assert done, error
    lines = dict(line.split(":", 1) for line in text.splitlines())
    printed = {name: value.strip() for name, value in lines.items()}
    assert printed["TensorFlow"] == tf.__version__
    assert printed["cavs_tf"].startswith(cavs.__version__)
    assert printed["instruction set"] in ("portable", "avx2", "avx512", "avx512bf16")
    assert printed["self-check"].startswith("passed in ")


def test_says_what_gpus_lack(monkeypatch, capsys):
    """A line for each, and all of them: one missing thing does not hide the others."""
    monkeypatch.setattr(program, "devices_of_operators", lambda: {"CPU", "GPU"})
    for library in ("CUDA", "NVRTC", "CUBLASLT"):
        monkeypatch.setenv(f"CAVS_LIB{library}", f"/missing/{library}.so")
    monkeypatch.setenv("CAVS_CUBLASLT", "1")
    assert program.main() == 0
    printed = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
    driver = "but expected the library /missing/CUDA.so. Install NVIDIA's driver, or use the CPU."
    assert printed["NVIDIA driver"].endswith(driver)
    assert "got no library of the name /missing/NVRTC.so but" in printed["NVRTC"]
    assert "got no library of the name /missing/CUBLASLT.so but" in printed["cuBLASLt"]
    assert "got no device of type GPU but expected one" in printed["TensorFlow GPUs"]


def test_asks_for_no_gpu_unless_told_to(capsys):
    assert program.main() == 0
    assert "NVRTC" not in capsys.readouterr().out


@pytest.mark.in_turns
def test_a_wrong_result_is_printed_and_the_status_says_so(monkeypatch, capsys):
    run = cavs.keras.TreeLSTMCell.__call__
    monkeypatch.setattr(
        cavs.keras.TreeLSTMCell, "__call__", lambda *args, **kwargs: 1.01 * run(*args, **kwargs)
    )
    assert program.main() == 1
    printed = capsys.readouterr().out
    assert "self-check:       FAILED" in printed
    assert "DIFFERENT from the reference" in printed

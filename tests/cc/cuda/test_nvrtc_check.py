"""Texts of kernels are compiled by NVRTC, where a wheel of it is installed."""

import os
import subprocess
import sys

import pytest

from tests.cc.cuda import nvrtc_check

HEADER = '#define KERNEL(name, Args) extern "C" __global__ void name(Args a)\n'
RIGHT = '#include "cavs_device.h"\nKERNEL(right, float*) { a[threadIdx.x] = 1; }\n'
WRONG = '#include "cavs_device.h"\nKERNEL(wrong, Missing) {}\n'


@pytest.fixture
def nvrtc():
    path = nvrtc_check.find_nvrtc()
    if path is None:
        pytest.skip("no wheel of NVRTC: `pip install nvidia-cuda-nvrtc-cu12`")
    return path


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "right.cu").write_text(RIGHT)
    (tmp_path / "cavs_device.h").write_text(HEADER)
    return tmp_path


def run(nvrtc, texts, *more):
    header = texts / "cavs_device.h"
    arguments = [f"--texts={texts}", f"--header={header}", f"--nvrtc={nvrtc}", "--processes=1"]
    # In a process of its own: another test expects that no library of CUDA is loaded in this one.
    command = [sys.executable, "-m", "tests.cc.cuda.nvrtc_check", *arguments, *more]
    return subprocess.run(command, check=False).returncode


@pytest.mark.in_turns
def test_right_texts_compile_for_every_architecture(nvrtc, texts, capfd):
    assert run(nvrtc, texts) == 0
    assert "1 of 1 programs compile for sm_80, sm_90, sm_100" in capfd.readouterr().out


@pytest.mark.in_turns
def test_texts_are_machine_code_for_each_architecture(nvrtc, texts, capfd):
    passed = f"--passed={texts / 'passed'}"
    assert run(nvrtc, texts, passed, "--no-every") == 0
    assert "optimized for one of them in turn" in capfd.readouterr().out
    assert len((texts / "passed").read_text().split()) == 3
    # An error that only a text for one architecture has, and one of no PTX.
    for number in (800, 900, 1000):
        wrong = RIGHT.replace("= 1", f"= 1; static_assert(__CUDA_ARCH__ != {number})")
        (texts / "right.cu").write_text(wrong)
        assert run(nvrtc, texts, "--no-every") == 1
        assert f"_{number // 10}: nvrtcCompileProgram" in capfd.readouterr().out
    (texts / "right.cu").write_text(RIGHT.replace("= 1", '= 1; asm("wrong;")'))
    assert run(nvrtc, texts, "--no-every") == 1
    output = capfd.readouterr().out
    for architecture in nvrtc_check.ARCHITECTURES:
        assert f"right.cu for {architecture}: " in output


def test_a_text_that_lies_there_twice_is_compiled_once(nvrtc, texts, capfd):
    (texts / "again.cu").write_text(RIGHT)
    assert run(nvrtc, texts) == 0
    assert "1 of 1 programs compile" in capfd.readouterr().out


def test_wrong_texts_are_named_with_the_error(nvrtc, texts, capfd):
    (texts / "wrong.cu").write_text(WRONG)
    assert run(nvrtc, texts, "--architectures=sm_90") == 1
    output = capfd.readouterr().out
    assert "wrong.cu for sm_90" in output
    assert '"Missing" is undefined' in output
    assert "1 of 2 programs compile" in output


def test_kernels_of_all_programs_keep_to_registers(nvrtc, texts, capfd):
    (texts / "two.cu").write_text(RIGHT + RIGHT.split("\n")[1].replace("right", "other"))
    assert run(nvrtc, texts, "--architectures=sm_90") == 0
    by_thread = "float x[9]; x[threadIdx.x % 9] = a[0]; a[1] = x[threadIdx.x % 7];"
    (texts / "two.cu").write_text(f"{RIGHT}KERNEL(other, float*) {{ {by_thread} }}\n")
    assert run(nvrtc, texts, "--architectures=sm_90") == 1
    assert "other: 40 bytes of memory of a thread" in capfd.readouterr().out


def test_products_with_a_group_behind_may_keep_a_little_elsewhere():
    log = (
        "properties for products_then_group\nptxas . {0} bytes stack frame, {0} bytes spill stores"
    )
    assert nvrtc_check.outside_of_registers(log.format(32)) == ""
    assert "36 bytes of memory of a thread" in nvrtc_check.outside_of_registers(log.format(36))


def test_all_large_programs_are_optimized_with_every_and_some_without():
    def optimized(texts, has_turn, every):
        options = [nvrtc_check.options_for(text, has_turn, every) for text in texts]
        return sum("--ptxas-options=-v" in own for own in options)

    for name in ("walk", nvrtc_check.THEN):
        texts = [f"KERNEL({name}, Args) {{ {i} }}" for i in range(64)]
        assert optimized(texts, False, True) == 64
        assert 1 <= optimized(texts, True, False) <= 32
        assert optimized(texts, False, False) == 0
    assert optimized(["KERNEL(group, Args)"], True, True) == 0
    of_all_programs = ["KERNEL(add, Args) KERNEL(move, Args)"]
    assert optimized(of_all_programs, True, False) == 1
    assert optimized(of_all_programs, False, False) == 0


def test_spills_are_read_in_the_log_of_the_compiler():
    log = (
        "ptxas info    : Function properties for sums\n"
        "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Function properties for moves\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    )
    assert nvrtc_check.outside_of_registers(log) == (
        "sums: 8 bytes of memory of a thread, 4 of them spilled from registers"
    )


@pytest.mark.in_turns
def test_small_texts_are_compiled_together_and_blamed_alone(nvrtc, texts, capfd):
    for i in range(20):
        (texts / f"group_{i}.cu").write_text(
            '#include "cavs_device.h"\ntypedef float T;\n'
            f"KERNEL(group, T*) {{ a[threadIdx.x] = {i}; }}\n"
        )
    assert run(nvrtc, texts, "--architectures=sm_90") == 0
    (texts / "group_7.cu").write_text('#include "cavs_device.h"\nKERNEL(group, Missing) {}\n')
    assert run(nvrtc, texts, "--architectures=sm_90") == 1
    output = capfd.readouterr().out
    assert "group_7.cu for sm_90" in output
    assert "20 of 21 programs compile" in output


def test_what_has_compiled_is_not_compiled_again(nvrtc, texts, monkeypatch):
    passed = f"--passed={texts / 'build' / 'passed'}"
    assert run(nvrtc, texts, passed) == 0
    assert len((texts / "build" / "passed").read_text().split()) == 3
    monkeypatch.setattr(nvrtc_check, "_compile_all", None)  # Else it would be called.
    assert run(nvrtc, texts, passed) == 0


def test_only_texts_that_were_used_since(nvrtc, texts, capfd):
    (texts / "stamp").write_text("")
    (texts / "old.cu").write_text(WRONG)
    os.utime(texts / "old.cu", (0, 0))
    os.utime(texts / "right.cu")
    assert run(nvrtc, texts, f"--since={texts / 'stamp'}", "--architectures=sm_90") == 0
    assert "1 of 1 programs" in capfd.readouterr().out


def test_without_texts_nothing_has_passed(nvrtc, texts):
    (texts / "right.cu").unlink()
    assert run(nvrtc, texts) == 1


def test_headers_are_found_in_sources(tmp_path):
    (tmp_path / "header.cc").write_text('const char kHeader[] = R"(\ntypedef int i;\n)";\n')
    assert nvrtc_check.header_text(tmp_path / "header.cc") == "\ntypedef int i;\n"

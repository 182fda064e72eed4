"""What `make cuda-check` runs, which it has to build."""

import pathlib
import re

from tests.cc.cuda import check, mutants

ROOT = pathlib.Path(__file__).parents[3]


def built(kind):
    """Returns the programs that the Makefile builds in a way."""
    text = re.search(rf"CUDA_{kind} := (.*?[^\\])\n", (ROOT / "Makefile").read_text(), re.S)[1]
    return {
        folder + name
        for folder, names in re.findall(r"//tests/cc:([\w/]*/)[, ]?([\w \\\n]*)", text)
        for name in re.findall(r"\w+", names)
    }


def test_tests_that_control_the_driver_are_skipped_on_others():
    for path in (ROOT / "tests/cc").glob("*/**/*_test.cc"):
        fixture, *tests = path.read_text().split("\nTEST_F(")
        if path.stem == "fake_driver_test" or "CAVS_SKIP_WITHOUT_FAKE_CUDA" in fixture:
            continue
        for test in tests:
            controls = "const FakeCuda cuda;" in test
            asks = re.search("CAVS_SKIP_WITHOUT_FAKE_CUDA|FakeCuda::IsDriver", test)
            assert asks or not controls, test.partition(")")[0]


def test_all_programs_that_run_are_built():
    shipped = {case.test for case in check.PLAIN + check.LONG} | {
        mutant.test for mutant in mutants.MUTANTS
    }
    assert shipped == built("SHIPPED")
    assert {case.test for case in check.SANITIZED} == built("SANITIZED")

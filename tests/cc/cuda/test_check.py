"""What `make cuda-check` runs, which it has to build."""

import pathlib
import re

from tests.cc.cuda import check, mutants

ROOT = pathlib.Path(__file__).parents[3]


def test_all_programs_that_run_are_built():
    text = re.search(r"CUDA_TESTS := (.*?[^\\])\n", (ROOT / "Makefile").read_text(), re.S)[1]
    built = {
        folder + name
        for folder, names in re.findall(r"//tests/cc:([\w/]*/)[, ]?([\w \\\n]*)", text)
        for name in re.findall(r"\w+", names)
    }
    run = {case.test for case in check.PLAIN + check.SANITIZED}
    assert run | {mutant.test for mutant in mutants.MUTANTS} == built

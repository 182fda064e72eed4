"""Makes mistakes in kernels and their driver, each of which a test has to find.

    python tests/cc/cuda/mutants.py --tests=<folder of the tests' programs> --cuda=<library>

The mistakes are made by the emulated driver while a test runs (tests/cc/cuda/fake/control.h):
nothing is built anew.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

KERNELS = "device/cuda/cuda_kernels_test"
TRAINING = "device/cuda/cuda_training_test"
GROUPS = "device/cuda/group_test"
EPILOGUES = "device/cuda/epilogue_test"
STREAMS = "device/cuda/cuda_stream_test"
LIBRARY = "device/cuda/cublas_lt_test"
EXECUTOR = "exec/executor_test"
WALK = "exec/cuda_walk_test"
TURNS = 4  # In so many runs each mistake is made once.
# What the emulated compiler says when it has changed a text.
CHANGED = "fake CUDA: a text is wrong"


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A mistake, and the tests that are to find it."""

    what: str
    test: str
    filter: str
    right: str = ""  # In texts of kernels, as it stands there.
    wrong: str = ""
    pattern: str = ""  # Or an extended regular expression, of which `wrong` names groups: $1.
    ignored: str = ""  # A function of the driver whose calls do nothing.
    races: bool = False  # Only looking for races finds it.

    def environment(self):
        if self.ignored:
            return {"CAVS_FAKE_IGNORE": self.ignored}
        wrong = self.wrong if self.pattern else self.wrong.replace("$", "$$")
        settings = {"CAVS_FAKE_REPLACE": self.pattern or escape(self.right), "CAVS_FAKE_BY": wrong}
        if self.races:
            settings["CAVS_FAKE_RACES"] = "1"
        return settings


def escape(text):
    """Returns an extended regular expression of POSIX that matches the text alone."""
    return re.sub(r"([\^$\\.*+?()\[\]{}|])", r"\\\1", text)


MUTANTS = [
    Mutant(
        "a tile is used before all of it is there",
        KERNELS,
        "*Products*",
        pattern=r"(else write_tile<n>\(y_tile, y\);)\s*barrier\(\);",
        wrong="$1",
    ),
    Mutant(
        "parts of a product are added up before they are there",
        KERNELS,
        "*Products*",
        pattern=r"barrier\(\);\s*for \(int e = thread_index\(\)",
        wrong="for (int e = thread_index()",
    ),
    Mutant(
        "parts of a sum are added up before they are there",
        KERNELS,
        "*Sums*",
        pattern=r"parts\[thread_index\(\)\] = sum;\s*barrier\(\);",
        wrong="parts[thread_index()] = sum;",
    ),
    Mutant(
        "a tile is overwritten while others use it",
        KERNELS,
        "*Products*",
        "half = 2 - half;",
        "",
        races=True,
    ),
    Mutant(
        "a term begins while others use the tiles of the one before",
        KERNELS,
        "*LargeTiles*",
        pattern=r"(half = 2 - half;\s*\})\s*barrier\(\);",
        wrong="$1",
        races=True,
    ),
    Mutant(
        "a thread uses its first lines of a large tile for all of them",
        KERNELS,
        "*LargeTiles*",
        "h * 64 + row)",
        "row)",
    ),
    Mutant(
        "warps compute the columns of others in a large tile",
        KERNELS,
        "*LargeTiles*",
        "warp() & 3",
        "warp() & 1",
    ),
    Mutant(
        "masks of all rows are the same",
        KERNELS,
        "*Masks*",
        "static_cast<u32>(own)",
        "0u",
    ),
    Mutant(
        "threads of a narrow tile take the part of others",
        KERNELS,
        "*Narrow*",
        "thread_index() >> (log_numbers - 4)",
        "thread_index() >> 5",
    ),
    Mutant(
        "threads of a tile of few rows compute rows that it has not",
        KERNELS,
        "*Narrow*",
        "<< 2) & (height - 1)",
        "<< 2) & 15",
    ),
    Mutant(
        "half of the parts of a narrow tile are left out",
        KERNELS,
        "*Narrow*",
        "1 << log_parts; ++i",
        "8; ++i",
    ),
    Mutant(
        "edges behind each eight are left out",
        KERNELS,
        "*Edges*",
        "for (; e < end; ++e)",
        "for (; e < begin; ++e)",
    ),
    Mutant(
        "a sum of many edges begins anew",
        KERNELS,
        "*Edges*",
        "e + k == begin",
        "k == 0",
    ),
    Mutant(
        "threads read the numbers of a rule before they are there",
        TRAINING,
        "*VariablesAreUpdated*",
        pattern=r"(shared\[0\] = static_cast<W>\(rate\);\s*\})\s*barrier\(\);",
        wrong="$1",
    ),
    Mutant(
        "the bias of the moments is that of the step before",
        TRAINING,
        "*Updated*",
        "rule.steps[0] + 1",
        "rule.steps[0] + 2",
    ),
    Mutant(
        "blocks update the first variable in place of their own",
        TRAINING,
        "*VariablesAreUpdated*",
        "a.variables[number + 1].first_block <= at.x",
        "a.variables[number + 1].first_block < at.x",
    ),
    Mutant(
        "rows of a table are updated in the order of the gradient",
        TRAINING,
        "*RowsAreUpdated*",
        "own.rows[row] * own.columns",
        "row * own.columns",
    ),
    Mutant(
        "a softmax is subtracted one at the wrong class",
        TRAINING,
        "*Losses*",
        "if (c == label)",
        "if (c == 0)",
    ),
    Mutant(
        "tensor cores are given half of their operands twice",
        KERNELS,
        "*Products*",
        "v[column + 4]",
        "v[column]",
    ),
    Mutant(
        "numbers of tensor cores go to the lines of others",
        KERNELS,
        "*Sums*",
        "(lane() >> 2) + (j >> 1) * 8",
        "(lane() >> 2) + (j & 1) * 8",
    ),
    Mutant(
        "numbers of TF32 are cut off, not rounded",
        KERNELS,
        "*Tf32*",
        "= round_tf32(x);",
        "= x;",
    ),
    Mutant(
        "tensor cores are given half of their operands of TF32 twice",
        KERNELS,
        "*LargeProducts*",
        "v[column + below]",
        "v[column]",
    ),
    Mutant(
        "products leave out the rows behind those of a grid",
        KERNELS,
        "*MoreRows*",
        "row0 += static_cast<i64>(at.height) * 64",
        "row0 = product.rows",
    ),
    Mutant(
        "products of few rows leave out the rows behind those of a grid",
        KERNELS,
        "*MoreRows*",
        "row0 += static_cast<i64>(at.height) * 16;",
        "row0 = product.rows;",
    ),
    Mutant(
        "rows behind those of a grid are added up with those before",
        KERNELS,
        "*MoreRows*",
        "if (row0 < product.rows) barrier();",
        "",
        races=True,
    ),
    Mutant(
        "one column too many",
        GROUPS,
        "*Broadcast*",
        "if (c >= a.columns) return;",
        "if (c > a.columns) return;",
    ),
    Mutant("one row too many", GROUPS, "*Broadcast*", "r < end;", "r <= end;"),
    Mutant(
        "the operands of a pair's second operator are swapped",
        GROUPS,
        "*Pairs*",
        pattern=r"(inner[0-9]+) \* (v[0-9]+) \* \(W\(1\) - v[0-9]+\)",
        wrong="$2 * $1 * (W(1) - $1)",
    ),
    Mutant(
        "the sign in the gradient of elu",
        GROUPS,
        "*TwoOperands*",
        pattern=r"< W\(0\) \? (v[0-9]+) \* \((v[0-9]+) \+ W\(1\)\)",
        wrong="< W(0) ? $1 * ($2 - W(1))",
    ),
    Mutant(
        "the operands of a difference are swapped",
        GROUPS,
        "*TwoOperands*",
        pattern=r"= (v[0-9]+) - (v[0-9]+);",
        wrong="= $2 - $1;",
    ),
    Mutant(
        "NaN is lost by the maximum",
        GROUPS,
        "*TwoOperands*",
        pattern=r"\(v\w+ != v\w+ \? v\w+ : v\w+ != v\w+ \? v\w+ : (.v\w+ > v\w+ \?)",
        wrong="(false ? v0 : $1",
    ),
    Mutant(
        "row -1 of an index is row 0",
        GROUPS,
        "*Broadcast*",
        "static_cast<i64>(own.index[r])",
        "static_cast<i64>(own.index[r] < 0 ? 0 : own.index[r])",
    ),
    Mutant(
        "a result that goes nowhere goes to row -1",
        GROUPS,
        "*WrittenByAnIndex*",
        "if (row >= 0) own.data",
        "own.data",
    ),
    Mutant(
        "an operand of one row moves on with the rows",
        GROUPS,
        "*Broadcast*",
        "r * own.row_step",
        "r",
    ),
    Mutant(
        "an operand of one column moves on with the columns",
        GROUPS,
        "*Broadcast*",
        "c * own.column_step",
        "c",
    ),
    Mutant(
        "row -1 of a product's index is row 0",
        KERNELS,
        "*Products*",
        "static_cast<i64>(rows.index[r])",
        "static_cast<i64>(rows.index[r] < 0 ? 0 : rows.index[r])",
    ),
    Mutant(
        "rows from nowhere keep what was there",
        KERNELS,
        "*Move*:*Nowhere*",
        "if (a.from && source >= 0) unit",
        "if (!a.from || source < 0) continue; unit",
    ),
    Mutant(
        "the last part of a sum is left out",
        KERNELS,
        "*Sums*",
        pattern=r"p < (\w+)\.num_parts;",
        wrong="p + 1 < $1.num_parts;",
    ),
    Mutant(
        "the parts of a sum are added backwards",
        KERNELS,
        "*PartsOfSums*",
        pattern=r"parts\[p \* (\w+)\.n \+ i\]",
        wrong="parts[($1.num_parts - p) * $1.n + i]",
    ),
    Mutant(
        "a sum of parts forgets what was there before",
        KERNELS,
        "*Sums*",
        pattern=r"if \(\w+\.accumulate\) sum = \w+\.to\[i\] \+ sum;",
        wrong="",
    ),
    Mutant(
        "rows are added backwards",
        KERNELS,
        "*InOrder*",
        pattern=r"links\[2 \* r\];([^@]*)before <= r([^@]*)links\[2 \* other \+ 1\];([^@]*)"
        r"other \+= behind > 0 \? behind : a\.rows;",
        wrong="links[2 * r + 1];$1before < a.rows - r$2links[2 * other];$3"
        "other -= behind > 0 && behind <= other ? behind : -a.rows;",
    ),
    Mutant(
        "a row waits for one that another launch has added",
        KERNELS,
        "*InOrder*",
        "(before > 0 && before <= r)",
        "before > 0",
    ),
    Mutant(
        "rows of the next launch are added, too",
        KERNELS,
        "*InOrder*",
        "other < a.rows;",
        "other < 2 * a.rows;",
    ),
    Mutant(
        "half of a warp is left out of a sum",
        KERNELS,
        "*Columns*",
        "for (int d = 16; d > 0; d /= 2) sum",
        "for (int d = 8; d > 0; d /= 2) sum",
    ),
    Mutant(
        "edges are counted from the first of all",
        KERNELS,
        "*Edges*",
        "a.splits[r] - a.first_edge",
        "a.splits[r]",
    ),
    Mutant(
        "a walk does not wait for all blocks of a step",
        WALK,
        "*ASmaller*",
        "grid_barrier(a.counter, &round);",
        "",
        races=True,
    ),
    Mutant(
        "a walk begins a block while the one before is at work",
        WALK,
        "*ASmaller*",
        pattern=r"(run\(kernel, memory \+ place, at\);)\s*barrier\(\);",
        wrong="$1",
        races=True,
    ),
    Mutant(
        "a walk leaves out what blocks go on with",
        EPILOGUES,
        "*Bits*",
        "kernel = place == 0 ? step.then : -1;",
        "kernel = -1;",
    ),
    Mutant(
        "an epilogue begins before its block's products are there",
        EPILOGUES,
        "*Bits*",
        pattern=r"barrier\(\);(\s*behind::group)",
        wrong="$1",
    ),
    Mutant(
        "an epilogue goes on with the rows of other blocks",
        EPILOGUES,
        "*Bits*",
        "if (end > a.rows) end = a.rows;",
        "end = a.rows;",
    ),
    Mutant(
        "a block computes columns of one product only",
        EPILOGUES,
        "*Bits*",
        "first + (in_row >> a.shift)",
        "first",
    ),
    Mutant(
        "a block reads the rows of one product only",
        EPILOGUES,
        "*Bits*",
        "a.products[least(first + (in_tile >> a.shift), a.num_products - 1)]",
        "a.products[first]",
    ),
    Mutant(
        "products read a sum before it is formed",
        EPILOGUES,
        "*SumOfItsOwn*",
        pattern=r"(form_sum\(\*sum, rows, product\.rows, at\.x == 0\);)\s*barrier\(\);",
        wrong="$1",
    ),
    Mutant(
        "a sum that products form is not written",
        EPILOGUES,
        "*SumOfItsOwn*",
        "product.rows, at.x == 0);",
        "product.rows, false);",
    ),
    Mutant(
        "every block writes the sum that it forms",
        EPILOGUES,
        "*SumOfItsOwn*",
        "product.rows, at.x == 0);",
        "product.rows, true);",
        races=True,
    ),
    Mutant(
        "a sum of four terms has three",
        EPILOGUES,
        "*SumOfItsOwn*",
        "if (t >= a.num_terms) break;",
        "if (t >= least(a.num_terms, 3)) break;",
    ),
    Mutant("sums do not begin at zero", EXECUTOR, "*Random*/Cuda", ignored="cuMemsetD8Async"),
    Mutant("a library's products are not formed", LIBRARY, "*Sums*", ignored="cublasLtMatmul"),
    Mutant(
        "a library is not told what is transposed",
        LIBRARY,
        "*Sums*",
        ignored="cublasLtMatmulDescSetAttribute",
    ),
    Mutant(
        "a stream does not wait for the other one",
        EXECUTOR,
        "*TwoStreams*/Cuda",
        ignored="cuStreamWaitEvent",
    ),
    Mutant(
        "memory of the host is used again before it was read",
        STREAMS,
        "*CopiedIn*",
        ignored="cuEventQuery",
    ),
    Mutant(
        "zero times infinity is zero",
        KERNELS,
        "*RowsOfZeros*",
        "sum = fma(W(0), to_wide(number), sum);",
        "",
    ),
    Mutant(
        "a product of rows that are alike is written to some of them",
        KERNELS,
        "*Alike*",
        "a.alike ? product.rows : static_cast<int>(row0) + 16",
        "static_cast<int>(row0) + 16",
    ),
]


def run(mutant, program, library, cache):
    """Returns what is wrong with the tests, or "" if they find the mistake."""
    environment = {
        **os.environ,
        "CAVS_LIBCUDA": library,
        "CAVS_LIBNVRTC": library,
        "CAVS_LIBCUBLASLT": library,
        "CAVS_CUDA_CACHE": "",
        **mutant.environment(),
    }
    if not mutant.ignored:
        environment["CAVS_FAKE_CACHE"] = cache
    command = [program, f"--gtest_filter={mutant.filter}", "--gtest_fail_fast"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    output = result.stdout + result.stderr
    if not mutant.ignored and CHANGED not in output:
        return "no text was changed: the mistake has to follow the kernels"
    if "[ RUN " not in output:
        return f"no test ran: {output[-300:]}"
    if "but expected it to compile" in output:
        return "the text does not compile"
    if result.returncode == 0:
        return "no test failed"
    return ""


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", type=pathlib.Path, required=True)
    parser.add_argument("--suffix", default="", help="of the programs' names")
    parser.add_argument("--cuda", required=True, help="the emulated driver's library")
    parser.add_argument("--cache", help="folder for the wrong kernels")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="part of what a mistake is called")
    parser.add_argument("--turn", type=int, help=f"0 to {TURNS - 1}: only mistakes of this one")
    flags = parser.parse_args(arguments)
    of_turn = MUTANTS if flags.turn is None else MUTANTS[flags.turn :: TURNS]
    mutants = [mutant for mutant in of_turn if flags.only in mutant.what]
    library = os.path.abspath(flags.cuda)
    with tempfile.TemporaryDirectory() as folder:

        def try_it(mutant):
            program = (flags.tests / f"{mutant.test}{flags.suffix}").absolute()
            return run(mutant, program, library, flags.cache or folder)

        with concurrent.futures.ThreadPoolExecutor(flags.processes) as pool:
            wrong = dict(zip(mutants, pool.map(try_it, mutants), strict=True))
    failures = {mutant.what: error for mutant, error in wrong.items() if error}
    for what, error in failures.items():
        print(f"Not found: {what}: {error}")
    others = (
        f"; {len(MUTANTS) - len(of_turn)} others have another turn" if of_turn != MUTANTS else ""
    )
    print(f"{len(mutants) - len(failures)} of {len(mutants)} mistakes are found{others}")
    return 1 if failures or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())

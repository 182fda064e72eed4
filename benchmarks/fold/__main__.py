"""Compares the modes of Fold; takes the flags of `benchmarks.run`.

python -m benchmarks.fold --workload=tree_lstm --units=64 --batch=64
"""

import sys

from benchmarks import run

if __name__ == "__main__":
    sys.exit(run.main(["--systems=fold,fold_cached,fold_per_vertex", *sys.argv[1:]]))

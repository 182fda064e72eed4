#!/usr/bin/env bash
# release.sh 3.10 3.11 ...: fills dist/ with a wheel for each Python and the source distribution,
# and checks each in a fresh environment: wheels where no program is found that could compile.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build/release
rm -rf "$work/empty" && mkdir -p "$work/empty"

# fresh NAME PYTHON PACKAGE: an environment that has this package and what it asks for.
fresh() {
  rm -rf "$work/$1"
  "$2" -m venv "$work/$1"
  "$work/$1/bin/pip" install --quiet --disable-pip-version-check "$3"
}

# check NAME: the self-check and an example, from a folder that has no sources.
check() {
  local python=$work/$1/bin/python
  cp python/examples/{listops,_common}.py "$work/empty"
  (
    cd "$work/empty"
    export PATH=$work/empty TF_CPP_MIN_LOG_LEVEL=2
    "$python" -m cavs_tf
    "$python" listops.py --epochs=1 --train_examples=200 --test_examples=50 --picture=
  ) > "$work/$1.txt" 2>&1 || { cat "$work/$1.txt"; echo "$1: failed"; exit 1; }
  grep --quiet 'self-check: *passed' "$work/$1.txt"
  echo "$1: passed, and an example ran"
}

for version in "$@"; do
  make --no-print-directory wheel PYTHON="python$version" VENV="build/release/build-$version"
  fresh "wheel-$version" "python$version" dist/*-cp"${version/./}"-*.whl
  check "wheel-$version"
done
exit 0; fresh sdist "python$1" dist/*.tar.gz
check sdist
ls -l dist

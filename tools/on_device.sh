#!/usr/bin/env bash
# Measures this machine's GPU beside PyTorch, and runs the C++ tests of the CUDA
# device on it. Needs NVIDIA's driver and NVRTC, and no TensorFlow.
#
#   make on-device ARGS="--sst=<folder>/test.txt"  # build/on_device.tar.gz
#   tar xf on_device.tar.gz
#   on_device/on_device.sh [--results=<file>] [part]...
#
# The script lies in the folder of what it needs: programs, trees.txt, and
# perhaps treebank.txt, cubins/ and the Python of the benchmarks. Without parts all
# of them run, what is worth most first. A part that takes too long ends, and
# the next one runs:
#
#   part       minutes, estimated, and at most
#   smoke      0.5   1.5   a few tests of the executor
#   goals      1     3     what docs/how/predictions.md predicts, by our programs
#   pytorch    1     2     the same by PyTorch, cuDNN and cuBLAS
#   switches   0.5   1.5   the paper's switches one by one
#   types      1     2     TF32, bfloat16 and float16
#   sizes      2     4     other sizes, by PyTorch too
#   cpu        1     2     the CPU of the same machine, with 1 to 16 threads
#   tests      3     6     all tests; those skipped that need an emulated driver
#   sanitizer  3     5     compute-sanitizer, where it is found
#
# Results are appended to benchmarks/results/on_device.jsonl beside the script,
# or to the file that is named, each as soon as it is there: a row of JSON for
# each measurement, each test, whatever failed (124: it took too long), and each
# part with the number of texts that it had to compile. `python -m
# benchmarks.on_device` makes tables of them. The status is 1 if anything failed.
#
# CAVS_LIBCUDA, CAVS_LIBNVRTC and CAVS_LIBCUBLASLT name libraries that are not
# found. UNITS, BATCHES and STEPS choose other sizes, such as `UNITS=64 BATCHES=1
# STEPS=2` where the driver is emulated; LARGE those of a large minibatch, by
# default 512 units and 1024 trees, and LSTM the length, units and number of
# sequences. CHECK=0 compares no results with the CPU's. SLOWER=10 gives ten
# times as long.
set -uo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
results=$folder/benchmarks/results/on_device.jsonl
if [[ ${1:-} == --help ]]; then
  sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"
  exit
fi
if [[ ${1:-} == --results=* ]]; then
  results=$(realpath -m "${1#*=}")
  shift
fi
declare -A seconds_of=([smoke]=90 [goals]=180 [pytorch]=120 [switches]=90 [types]=120 [sizes]=240
  [cpu]=120 [tests]=360 [sanitizer]=300)
(($#)) || set -- smoke goals pytorch switches types sizes cpu tests sanitizer
for part; do
  [[ -n ${seconds_of[$part]:-} ]] || { echo "no part $part: look at --help" >&2; exit 2; }
done
read -r -a all_units <<< "${UNITS:-64 256 512 1024}"
read -r -a all_batches <<< "${BATCHES:-1 64 256}"
read -r large_units large_batch <<< "${LARGE:-512 1024}"
read -r length lstm_units sequences <<< "${LSTM:-64 512 64}"
# One size for all switches: the second of each list, or the only one.
chosen=("--units=${all_units[1]:-${all_units[0]}}" "--batch=${all_batches[1]:-${all_batches[0]}}")
large=("--units=$large_units" "--batch=$large_batch")
lstm=("--units=$lstm_units" "--batch=$sequences" "--length=$length")
most_seconds=$((120 * ${SLOWER:-1}))  # Of a benchmark, lest one that hangs takes the others along.
log=$(mktemp)
status=0
cd "$folder" || exit 2
mkdir -p "$(dirname "$results")"

if [[ -z ${CAVS_CUDA_CACHE:-} ]]; then  # Only in a folder of its own does a user trust images.
  CAVS_CUDA_CACHE=$(mktemp -d)
  cp cubins/* "$CAVS_CUDA_CACHE" 2> /dev/null
fi
export CAVS_CUDA_CACHE
for library in nvrtc cublasLt; do
  name=CAVS_LIB${library^^}
  [[ -z ${!name:-} ]] || continue
  found=$(python3 - $library << 'PYTHON'
import glob, sys, sysconfig
folder = sysconfig.get_path("purelib")
print(*sorted(glob.glob(f"{folder}/nvidia/*/lib/lib{sys.argv[1]}.so.1?"))[-1:])
PYTHON
  )
  [[ -z $found ]] || export "$name=$found"
done
# Without this, a driver that is missing would be a reason to skip tests.
export CAVS_LIBCUDA=${CAVS_LIBCUDA:-libcuda.so.1}

row() {  # <more fields>: a row of this part.
  echo "{\"part\": \"$part\", $1}" >> "$results"
}
within() {  # <seconds> <command>...: ends with 124 if that or the part takes too long.
  local seconds=$((end - SECONDS))
  ((seconds < $1)) || seconds=$1
  echo "== ${*:2}" >&2
  ((seconds > 0)) || return 124
  timeout --kill-after=5 "$seconds" "${@:2}"
}
ended() {  # <status> <seconds> <more fields> <command>...
  (($1 == 0)) || status=1 part_status=1
  row "\"command\": \"$(basename "$4") ${*:5}\", \"status\": $1, \"seconds\": $2$3"
}
run() {  # <command>...: a test.
  local begin=$SECONDS code
  within "$((end - SECONDS))" "$@" 2>&1 | tee "$log" >&2
  code=${PIPESTATUS[0]}
  ended "$code" $((SECONDS - begin)) "$(
    sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/, "passed": \1/p' "$log" | tail -n 1
  )" "$@"
}
measure() {  # <command>...: prints rows.
  local begin=$SECONDS code
  within "$most_seconds" "$@" >> "$results"
  code=$?
  ((code == 0)) || ended "$code" $((SECONDS - begin)) "" "$@"
}
bench() {
  measure "$folder/cuda_bench" trees.txt "--steps=${STEPS:-50}" ${CHECK:+"--check=$CHECK"} "$@"
}
torch() {
  [[ -n ${has_torch:-} ]] ||
    has_torch=$(python3 -c 'import torch; print(int(torch.cuda.is_available()))' 2> /dev/null || echo 0)
  ((has_torch)) || return 0
  measure python3 -m benchmarks.torch_on_gpu "$@"
}
torch_trees() {
  torch "$@" "--sst=$([[ ! -f treebank.txt ]] || echo treebank.txt)"
}

smoke() {
  run "$folder/executor_test" --gtest_filter='*TreeLstmMatches*/Cuda'
}
goals() {
  bench "${chosen[@]}"
  bench "${chosen[@]}" --walk=0
  for tf32 in 0 1; do
    for cublaslt in 0 1; do
      bench "${lstm[@]}" --tf32=$tf32 --cublaslt=$cublaslt
      bench "${large[@]}" --tf32=$tf32 --cublaslt=$cublaslt
    done
  done
}
pytorch() {
  torch_trees "${chosen[@]}"
  # What large minibatches and sequences are compared with: cuBLAS and cuDNN.
  # A tree of the treebank has 39 vertices or so.
  torch "${large[@]}" "--rows=$((39 * large_batch))"
  torch "${lstm[@]}"
}
# The paper's switches, one by one (arXiv:1712.04048, figure 10), which the walk
# takes part of the gain of. Two streams have no walk.
switches() {
  bench "${chosen[@]}" --walk=0 --streams=2
  for switch in eager lazy fuse merge; do
    for walk in 0 1; do bench "${chosen[@]}" --walk=$walk --$switch=0; done
  done
}
types() {
  bench "${chosen[@]}" --tf32=1
  for dtype in bfloat16 float16; do
    bench "${chosen[@]}" --dtype=$dtype
    bench "${large[@]}" --dtype=$dtype
    bench "${lstm[@]}" --dtype=$dtype
  done
}
sizes() {
  for units in "${all_units[@]}"; do
    for batch in "${all_batches[@]}"; do
      size=("--units=$units" "--batch=$batch")
      [[ ${size[*]} != "${chosen[*]}" ]] || continue
      bench "${size[@]}"
      torch_trees "${size[@]}"
    done
  done
}
cpu() {
  for workers in 1 2 4 8 16; do
    ((workers > $(nproc))) || bench --device=cpu --workers=$workers "${chosen[@]}"
  done
}
tests() {
  for test in executor narrow_sums; do  # Their other cases need no GPU.
    run "$folder/${test}_test" --gtest_filter='*Cuda*'
  done
  for test in cuda_walk cuda_kernels cuda_training group epilogue cuda_stream cublas_lt \
    cuda_context image_cache plan_launches cuda_counts cuda_faults; do
    run "$folder/${test}_test"
  done
  run "$folder/executor_test" --gtest_filter='*TheSameBits*Cuda*' --gtest_repeat=2
}
sanitizer() {
  command -v compute-sanitizer > /dev/null || return 0
  for tool in memcheck racecheck; do
    run compute-sanitizer --tool $tool --error-exitcode 1 "$folder/executor_test" \
      --gtest_filter='*TreeLstmMatches*Cuda*'
  done
}

compiled() { find "$CAVS_CUDA_CACHE" -name '*.cubin' | wc -l; }
for part; do
  part_status=0 begin=$SECONDS before=$(compiled)
  end=$((SECONDS + ${seconds_of[$part]} * ${SLOWER:-1}))
  $part
  row "\"status\": $part_status, \"seconds\": $((SECONDS - begin)), \"compiled\": $(($(compiled) - before))"
done
rm "$log"
exit $status

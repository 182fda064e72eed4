#!/usr/bin/env bash
# Runs the C++ tests of the CUDA device on this machine's GPU, then its benchmark
# beside PyTorch. Needs NVIDIA's driver and NVRTC, and no TensorFlow.
#
#   tools/on_device.sh <programs> <trees> <treebank> [results.jsonl]
#
# <programs> is a folder with the tests named below and cuda_bench, which
#   tools/bazel.sh build //tests/cc:{exec,device/cuda}/<test> //benchmarks:cc/exec/cuda_bench
# makes, perhaps on another machine; <trees> the file that cuda_bench reads;
# <treebank> the folder of the Stanford Sentiment Treebank, or "" for data from
# a seed. Tests that only an emulated driver can run are skipped.
# `python -m benchmarks.on_device results.jsonl` makes tables of the results.
#
# CAVS_LIBCUDA, CAVS_LIBNVRTC and CAVS_LIBCUBLASLT name libraries that are not
# found. UNITS, BATCHES and STEPS choose other sizes, such as `UNITS=64 BATCHES=1
# STEPS=2` where the driver is emulated; LARGE those of a large minibatch, by
# default 512 units and 1024 trees, and LSTM the length, units and number of
# sequences.
set -uo pipefail
programs=$1 trees=$2 treebank=$3 results=${4:-/dev/stdout}
units_to_time=${UNITS:-64 256 512 1024} batches=${BATCHES:-1 64 256} steps=${STEPS:-50}
read -r -a all_units <<< "$units_to_time"
read -r -a all_batches <<< "$batches"
read -r large_units large_batch <<< "${LARGE:-512 1024}"
read -r length lstm_units sequences <<< "${LSTM:-64 512 64}"
export CAVS_CUDA_CACHE=${CAVS_CUDA_CACHE:-$(mktemp -d)}
status=0

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

run() {  # <what it is> <command>...
  echo "== $1" >&2
  "${@:2}" >&2 || status=1
}
# Without this, a driver that is missing would be a reason to skip tests.
export CAVS_LIBCUDA=${CAVS_LIBCUDA:-libcuda.so.1}
for test in executor narrow_sums; do  # Their other cases need no GPU.
  run ${test}_test "$programs/${test}_test" --gtest_filter='*Cuda*'
done
for test in cuda_walk cuda_kernels group epilogue cuda_stream cublas_lt cuda_context image_cache \
  plan_launches cuda_counts cuda_faults; do
  run ${test}_test "$programs/${test}_test"
done
run "The same bits twice" "$programs/executor_test" \
  --gtest_filter='*TheSameBits*Cuda*' --gtest_repeat=2
if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck; do
    run $tool compute-sanitizer --tool $tool --error-exitcode 1 "$programs/executor_test" \
      --gtest_filter='*TreeLstmMatches*Cuda*'
  done
fi

bench() {
  "$programs/cuda_bench" "$trees" --steps="$steps" "$@" >> "$results" || status=1
}
: > "$results" 2> /dev/null || true
for units in "${all_units[@]}"; do
  for batch in "${all_batches[@]}"; do bench "--units=$units" "--batch=$batch"; done
done
# One size for all switches: the second of each list, or the only one.
chosen=("--units=${all_units[1]:-${all_units[0]}}" "--batch=${all_batches[1]:-${all_batches[0]}}")
# The paper's switches, one by one (arXiv:1712.04048, figure 10), which the walk
# takes part of the gain of. Two streams have no walk.
bench "${chosen[@]}" --walk=0
bench "${chosen[@]}" --walk=0 --streams=2
for switch in eager lazy fuse merge; do
  for walk in 0 1; do bench "${chosen[@]}" --walk=$walk --$switch=0; done
done
large=("--units=$large_units" "--batch=$large_batch")
lstm=("--units=$lstm_units" "--batch=$sequences" "--length=$length")
for tf32 in 0 1; do
  bench "${chosen[@]}" --tf32=$tf32
  bench "${large[@]}" --tf32=$tf32
  bench "${lstm[@]}" --tf32=$tf32
  bench "${large[@]}" --tf32=$tf32 --cublaslt=1
  bench "${lstm[@]}" --tf32=$tf32 --cublaslt=1
done
for dtype in bfloat16 float16; do
  bench "${chosen[@]}" --dtype=$dtype
  bench "${large[@]}" --dtype=$dtype
  bench "${lstm[@]}" --dtype=$dtype
done
# The CPU of the same machine.
for workers in 1 2 4 8 16; do
  ((workers > $(nproc))) || bench --device=cpu --workers=$workers "${chosen[@]}"
done
torch() {
  python3 -m benchmarks.torch_on_gpu "$@" >> "$results" || status=1
}
if python3 -c 'import torch; assert torch.cuda.is_available()' 2> /dev/null; then
  for units in "${all_units[@]}"; do
    for batch in "${all_batches[@]}"; do
      torch "--units=$units" "--batch=$batch" "--sst=$treebank"
    done
  done
  # What large minibatches and sequences are compared with: cuBLAS and cuDNN.
  # A tree of the treebank has 39 vertices or so.
  torch "${large[@]}" "--rows=$((39 * large_batch))"
  torch "${lstm[@]}"
fi
exit $status

# Each target does all its own set-up: the first one you type makes .venv.
#
#   make demo ARGS="--epochs=1"            passes flags on
#   make build TENSORFLOW=tensorflow-cpu   0.6 GB smaller, without GPU support

.DEFAULT_GOAL := help
.PHONY: help help-all build build-cc demo test test-all test-python test-cc cuda-check on-device test-tsan sanitize fuzz fuzz-ops bench bench-cc bench-engine compare pages docs wheel release format lint clean

PYTHON ?= python3
VENV ?= .venv
TENSORFLOW ?= tensorflow
ARGS ?=

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BAZEL := tools/bazel.sh
CC_FILES = $(shell git ls-files --cached --others --exclude-standard '*.cc' '*.h')

# TensorFlow's start-up chatter hides what matters.
export TF_CPP_MIN_LOG_LEVEL ?= 1

help: # The targets of users, and the names of the others.
	@awk -F ':.*## ' '/^[a-z-]+:.*[^#]## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@awk -F ':' '/^[a-z-]+:.*### / { names = names " " $$1 } END { print "\nFor developers (make help-all):" names }' \
	  $(MAKEFILE_LIST) | fold -s -w 100

help-all: help # And what those of developers do.
	@echo; awk -F ':.*### ' '/^[a-z-]+:.*### / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(INSTALLED): pyproject.toml tools/requirements.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python tools/requirements.py $(TENSORFLOW) > $(VENV)/requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r $(VENV)/requirements.txt
	$(BIN)/python -c "import site; print('$(CURDIR)', file=open(site.getsitepackages()[0] + '/cavs_tf.pth', 'w'))"
	@touch $@

build: $(INSTALLED) ## Compiles the C++ into cavs_tf/
	$(BIN)/python -W ignore setup.py --quiet build_ext --inplace

demo: build ## Trains a Tree-LSTM on ListOps, in about two minutes
	$(BIN)/python python/examples/listops.py $(ARGS)

test: ## Runs the tests; some take turns, by commit
	@$(BAZEL) --version > /dev/null  # Else it is said after minutes.
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/.nvrtc build-cc TURN=$(TURN_OF_COMMIT)
	@$(MAKE) --no-print-directory --jobs=1 --keep-going test-python test-cc cuda-check TURN=$(TURN_OF_COMMIT)

# What is behind the tags of C++ tests that run (tools/cc.bzl). For `make test` the last digit of
# the commit chooses a quarter of them; the target test-cc by itself has all.
TURN ?=
TURN_OF_COMMIT = $(if $(LONG),,_$(or $(shell git rev-parse --verify --quiet HEAD | \
  sed 's/.*[048c]$$/0/; s/.*[159d]$$/1/; s/.*[26ae]$$/2/; s/.*[37bf]$$/3/'),0))

# Runs while packages are installed, and before the library is compiled: twice as many compilers as
# cores take longer. What does not compile is a failure of test-cc.
build-cc:
	-@$(BAZEL) build --keep_going --noshow_progress --config=asan \
	  --build_tag_filters=sanitized$(TURN) //tests/cc/...

test-all: build ### Every test in every way: before a release
	@status=0; \
	$(MAKE) --no-print-directory test LONG=1 || status=1; \
	$(BAZEL) build //... || status=1; \
	$(BAZEL) test --test_env=CAVS_LONG_TESTS=1 //tests/cc/... || status=1; \
	exit $$status

test-python: build ### The Python tests; ARGS="tests/data -k name" for some, LONG=1 for all, long ones too
	$(BIN)/pytest --numprocesses=2 --dist=worksteal $(if $(LONG),-m "") $(ARGS)

test-cc: build ### The C++ tests under AddressSanitizer and UBSan, and some as shipped
	@status=0; \
	$(BAZEL) test --keep_going --config=asan --test_tag_filters=sanitized$(TURN) //tests/cc/... || status=1; \
	$(BAZEL) test --keep_going --config=shipped --test_tag_filters=as_shipped$(TURN) //tests/cc/... || status=1; \
	exit $$status

# Tests of the GPU's part on an emulated driver. NVRTC's wheel needs no GPU.
CUDA_SHIPPED := //tests/cc/cuda/fake:libfake_cuda.so //benchmarks:cc/exec/cuda_bench \
  $(addprefix //tests/cc:exec/,executor_test cuda_counts_test cuda_walk_test) \
  $(addprefix //tests/cc:device/cuda/,cuda_kernels_test cuda_training_test group_test \
    cuda_stream_test cublas_lt_test epilogue_test plan_launches_test)
CUDA_SANITIZED := //tests/cc/cuda/fake:libfake_cuda.so //tests/cc:cuda/fake_driver_test \
  $(addprefix //tests/cc:exec/,executor_test cuda_faults_test cuda_walk_test narrow_sums_test) \
  $(addprefix //tests/cc:device/cuda/,cuda_kernels_test cuda_training_test group_test \
    cuda_stream_test cuda_context_test image_cache_test cublas_lt_test epilogue_test)
cuda-check: build $(VENV)/.nvrtc ### The GPU's kernels on an emulated driver
	@$(BAZEL) build --noshow_progress --config=shipped $(CUDA_SHIPPED)
	@$(BAZEL) build --noshow_progress --config=asan $(CUDA_SANITIZED)
	@$(BIN)/python -m tests.cc.cuda.check \
	  --plain=$$($(BAZEL) info --config=shipped bazel-bin) \
	  --sanitized=$$($(BAZEL) info --config=asan bazel-bin) $(if $(LONG),--long)

test-tsan: $(INSTALLED) ### The engine, streams and executor under ThreadSanitizer
	$(BAZEL) test --config=tsan $$($(BAZEL) query 'filter("engine/|stream|late_device|exec/executor_test", kind(cc_test, //tests/cc/...))')

# All programs of tools/on_device.sh. NVRTC is to be that of the machine with a GPU.
CUDA_ON_DEVICE := //tests/cc/cuda/fake:libfake_cuda.so //benchmarks:cc/exec/cuda_bench \
  $(patsubst tests/cc/%.cc,//tests/cc:%,$(wildcard tests/cc/device/cuda/*_test.cc \
    tests/cc/exec/cuda_*_test.cc tests/cc/exec/executor_test.cc tests/cc/exec/narrow_sums_test.cc))
on-device: build ### Packs what a machine with a GPU measures: ARGS="--sst=<file> --nvrtc=<library>"
	@$(BAZEL) build --noshow_progress --config=shipped $(CUDA_ON_DEVICE)
	@$(BIN)/python -m benchmarks.device_archive \
	  --built=$$($(BAZEL) info --config=shipped bazel-bin) $(ARGS)

# The checkout's own library stays as it is: this one lies under build/. Without
# capture=sys pytest would swallow the report of the sanitizer, which ends the process.
SANITIZED := build/sanitized
sanitize: $(INSTALLED) ### The Python tests on ops built with sanitizers
	CAVS_SANITIZE=address,undefined \
	  $(BIN)/python -W ignore setup.py --quiet build --build-lib $(SANITIZED)
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(BIN)/pytest --capture=sys -o pythonpath="$(SANITIZED) ." $(ARGS)

fuzz: build ### Random models against an oracle: ARGS="--minutes=10"
	$(BIN)/python -m tests.fuzz.run $(ARGS)

fuzz-ops: build ### The ops with arguments that no model passes: ARGS="--calls=100000"
	$(BIN)/python -m tests.fuzz.raw_ops $(ARGS)

# The results carry the commit's name: an interrupted run goes on, a new commit starts anew.
BENCH_RESULTS ?= build/bench/$(shell git describe --always --dirty).json
bench: build ## Compares the speed with other systems
	@$(MAKE) --no-print-directory bench-cc ARGS=
	@rm -f build/bench/*-dirty.json
	$(BIN)/python -m benchmarks.run --json=$(BENCH_RESULTS) $(ARGS)

bench-cc: $(INSTALLED) ### The C++ benchmarks
	@for target in $$($(BAZEL) query 'kind(cc_binary, //benchmarks/...)'); do \
	  $(BAZEL) run $$target -- $(ARGS) || exit 1; \
	done

# CAVS_MXNET_LIBRARY=.../libmxnet.so compares with MXNet's engine as well.
bench-engine: $(INSTALLED) ### The dependency engine beside others
	@for workers in 0 1 2; do \
	  CAVS_BENCH_WORKERS=$$workers $(BAZEL) run //benchmarks/cc/engine:engine_bench -- $(ARGS) || exit 1; \
	done

# As above: goes on where it stopped, of a commit at least. ARGS=--full measures the paper's sizes.
COMPARE_FOLDER ?= build/compare/$(shell git describe --always --dirty)
compare: build ## Draws the paper's figures and tables, and a report
	@rm -rf build/compare/*-dirty
	$(BIN)/python -m benchmarks.compare --folder=$(COMPARE_FOLDER) $(ARGS)

pages: build ### Measures the tables of the pages: ARGS="--sst=<folder> --ceiling=<program>"
	$(BIN)/python -m benchmarks.pages --folder=build/pages/$(shell git describe --always --dirty) $(ARGS)

# What only one target needs: an extra of pyproject.toml.
$(VENV)/.docs $(VENV)/.wheel $(VENV)/.nvrtc: $(VENV)/.%: $(INSTALLED)
	$(BIN)/python tools/requirements.py $(TENSORFLOW) $* > $(VENV)/$*.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r $(VENV)/$*.txt
	@touch $@

# The variable keeps Material from printing news of its successor.
docs: $(VENV)/.docs ## Builds the pages: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo build/site/index.html

# For the Python that makes it: PYTHON=python3.12 VENV=.venv-3.12 for another. The wheel has a tag of
# the oldest systems that it runs on, and finds TensorFlow's libraries in TensorFlow.
wheel: $(VENV)/.wheel ## Builds a wheel and the sources: dist/
	rm -rf build/lib.* build/bdist.* build/wheel
	$(BIN)/python -W ignore setup.py --quiet sdist --dist-dir dist
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel .
	PATH="$(abspath $(BIN)):$$PATH" \
	  $(BIN)/auditwheel repair --exclude 'libtensorflow*' --wheel-dir dist build/wheel/*.whl

PYTHONS ?= 3.10 3.11 3.12 3.13
release: ### Fills dist/ for every Python, and checks each wheel in a fresh environment
	tools/release.sh $(PYTHONS)

format: $(INSTALLED) ### Formats the sources
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CC_FILES)

lint: $(INSTALLED) ### Says what format would change, and what ruff finds
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(CC_FILES)

clean: ## Deletes what was built, not .venv
	rm -rf build dist cavs_tf/_cavs_*.so cavs_tf/_build_info.json

# Everything starts from python3, make and a package index; each target sets up what it needs.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
RANKWISE = $(BIN)/rankwise
OUT ?= out
PYTEST_ARGS ?=
WORKERS ?= logical
BENCH_ARGS ?=
MUTANTS_ARGS ?=
FUZZ_TARGETS ?= all
FUZZ_CASES ?= 10000
FUZZ_FIRST ?= 0
BOUNDSCHECK_CASES ?= 100
LEAST_COVERAGE ?= 95
# pinned: constraints.txt; newest: whatever the index has; oldest: the lower bounds.
DEPENDENCIES ?= pinned
# The rankers of the first pages; six trials keep AutoRanker's search short.
STORY = linear_regression,ridge,pairwise_elm,lambdamart,auto(n_trials=6),lightgbm()
WORK = build/wheel-demo
BUILT = whl
# What builds the archives, and nothing else: it is there long before the environment of the tests.
BUILDER = build/builder
PYTHONS ?= python3.11 python3.14
# The packages of docs/operate.rst, and the most megabytes that they and rankwise may take.
LEAN = scikit-learn numba narwhals lazy-loader skops threadpoolctl
LEAN_MB = 520
# The first scikit-learn that pyproject.toml allows, and tests of what has to do with it.
OLDEST = scikit-learn==1.6.1
OLDEST_TESTS = tests/common/test_routing.py tests/features tests/persistence/test_old_files.py \
	tests/persistence/test_persistence.py
# Tools of rankwise.integrations. MLflow is not in constraints.txt: it takes longer to install than
# everything else in .test but torch, and older versions of some packages there.
DOORS = mlflow pyterrier
PURELIB = 'import sysconfig; print(sysconfig.get_path("purelib"))'

PIP = $(BIN)/python -m pip --disable-pip-version-check -qq
# Modules are compiled when they are first imported, which most of them never are.
INSTALL_pinned = $(PIP) install --no-compile -c constraints.txt
INSTALL_newest = $(PIP) install --no-compile
INSTALL_oldest = $(PIP) install -q uv && $(BIN)/uv pip install -q --python $(BIN)/python --resolution lowest-direct
CHECK_PYTHON = $(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	"rankwise needs Python 3.11 or later, got %s. Name one: make PYTHON=python3.12" \
	% sys.version.split()[0])'
export PYTHONUTF8 = 1
# Where it is set, as on many build machines, every process compiles all that it imports anew.
export PYTHONDONTWRITEBYTECODE =

# Numba sees no edits of kernels that other kernels call: a changed kernel makes another folder.
KERNELS := $(shell cat src/rankwise/kernels/*.py src/rankwise/runtime/jit.py src/rankwise/runtime/instructions.py constraints.txt | cksum | cut -d' ' -f1)
KERNEL_CACHE = $(CURDIR)/.numba-cache/$(KERNELS)

.PHONY: help demo run-demo test test-all test-oldest doors run-tests mutants fuzz boundscheck coverage lint bench docs dist wheel-demo run-built-demo lean run-lean release-check version notes clean

help:
	@echo "make demo    compare rankers on bundled data, write an HTML report, save and export a model"
	@echo "make test    run the tests that find most faults in little time"
	@echo "make test-all  run every test: pages, papers and long journeys too"
	@echo "make test-oldest  run a few tests with $(OLDEST)"
	@echo "make doors   test the adapters of rankwise.integrations with the newest $(DOORS)"
	@echo "make mutants  count the faults put into the library that its tests notice"
	@echo "make fuzz    attack every reader and model loading: FUZZ_CASES=10000 from FUZZ_FIRST=0, FUZZ_TARGETS=all"
	@echo "make boundscheck  test kernels, and run models on fuzzed inputs, with checks of every index"
	@echo "make coverage  test kernels as plain Python, and count the lines that no test reaches"
	@echo "make lint    check style, types and import layers"
	@echo "make bench   time rankwise beside its peers; BENCH_ARGS=--strict fails on a missed target"
	@echo "make docs    build the documentation into docs/_build/html"
	@echo "make dist    build the wheels and source archives of rankwise and rankwise-papers into dist"
	@echo "make wheel-demo  run the demo and an experiment from the built wheels in an empty environment"
	@echo "make lean    fit, save, load and measure from the built wheel with few packages, and count their size"
	@echo "make release-check  the same from wheels and source archives, on PYTHONS='python3.11 python3.14'"
	@echo "make version, make notes  print the version, and its section of the changelog"
	@echo "make clean   remove what the targets above made"
	@echo "PYTHON=python3.12 chooses the interpreter (3.11 or later) on the first call,"
	@echo "DEPENDENCIES=newest or oldest the versions of the libraries instead of the pinned ones."

demo: $(VENV)/.demo
	@$(MAKE) --no-print-directory run-demo

run-demo:
	@mkdir -p $(OUT)
	@$(RANKWISE) compare lambdarank:all --n-jobs -1 --rankers "$(STORY)" \
		--report $(OUT)/lambdarank.html
	@$(RANKWISE) fit lambdarank:all --ranker lambdamart --out $(OUT)/lambdamart.rankwise
	@$(RANKWISE) export $(OUT)/lambdamart.rankwise $(OUT)/lambdamart.py --verify lambdarank:all

# There is a worker for each core: BLAS with threads of its own takes more CPU time, and no less of
# the clock. Kernels that were compiled before they changed are removed.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory run-tests CHOSEN='-m "not slow"'

test-all: $(VENV)/.test
	@$(MAKE) --no-print-directory run-tests

run-tests:
	@mkdir -p $(KERNEL_CACHE)
	@find .numba-cache -mindepth 1 -maxdepth 1 ! -name $(KERNELS) -exec rm -rf {} +
	@NUMBA_CACHE_DIR=$(KERNEL_CACHE) OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(CHOSEN) $(PYTEST_ARGS)

# In front of the environment's own release; the tests take the kernels of test-all.
test-oldest: $(VENV)/.test
	@$(PIP) install --no-compile --no-deps --upgrade --target build/oldest $(OLDEST)
	@mkdir -p $(KERNEL_CACHE)
	@PYTHONPATH=build/oldest NUMBA_CACHE_DIR=$(KERNEL_CACHE) OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m pytest -q -p no:cacheprovider $(OLDEST_TESTS)

# In front of the usual environment.
doors: $(VENV)/.test
	@$(BIN)/python -m venv --clear build/doors
	@echo "import site; site.addsitedir('$$($(BIN)/python -c $(PURELIB))')" \
		>"$$(build/doors/bin/python -c $(PURELIB))/usual.pth"
	@build/doors/bin/python -m pip --disable-pip-version-check -qq install --no-compile $(DOORS)
	@mkdir -p $(KERNEL_CACHE)
	@NUMBA_CACHE_DIR=$(KERNEL_CACHE) OPENBLAS_NUM_THREADS=1 \
		build/doors/bin/python -m pytest -q -p no:cacheprovider tests/integrations

mutants: $(VENV)/.test
	@$(BIN)/python -m tests.mutants $(MUTANTS_ARGS)

fuzz: $(VENV)/.test
	@NUMBA_CACHE_DIR=$(KERNEL_CACHE) $(BIN)/python -m tests.fuzz \
		--targets $(FUZZ_TARGETS) --cases $(FUZZ_CASES) --first $(FUZZ_FIRST)

# Code with and without the checks has the same names: the two must not share a cache.
boundscheck: $(VENV)/.test
	@rm -rf .numba-cache-boundscheck
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba-cache-boundscheck \
		$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal tests/kernels
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba-cache-boundscheck \
		$(BIN)/python -m tests.fuzz --targets letor,cache,kernels,model --cases $(BOUNDSCHECK_CASES)

# Compiled code has no lines that a tracer could see.
coverage: $(VENV)/.test
	@mkdir -p build
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --data-file=build/coverage \
		--source=rankwise.kernels -m pytest -q -p no:cacheprovider tests/kernels
	@$(BIN)/python -m coverage report --data-file=build/coverage --skip-covered --show-missing \
		--fail-under=$(LEAST_COVERAGE)

lint: $(VENV)/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports --no-logo

bench: $(VENV)/.test
	@$(BIN)/python -m benchmarks $(BENCH_ARGS)

docs: $(VENV)/.test
	@mkdir -p $(KERNEL_CACHE)
	@NUMBA_CACHE_DIR=$(KERNEL_CACHE) OPENBLAS_NUM_THREADS=1 \
		$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

dist: $(BUILDER)/.ready
	@rm -rf dist
	@for project in . papers; do \
		$(BUILDER)/bin/python -m build --no-isolation --outdir dist $$project >/dev/null || exit 1; \
	done
	@ls dist/*

wheel-demo: dist
	@$(MAKE) --no-print-directory run-built-demo

run-built-demo:
	@rm -rf $(WORK)
	@$(PYTHON) -m venv $(WORK)/venv
	@$(WORK)/venv/bin/python -m pip --disable-pip-version-check -qq \
		install --no-compile -c constraints.txt "$$(echo dist/rankwise-*.$(BUILT))[gbdt]" dist/rankwise_papers-*.$(BUILT)
	@$(WORK)/venv/bin/rankwise --help >/dev/null
	@$(WORK)/venv/bin/rankwise reproduce ranking-tree-synthetic --quick --store $(WORK) >/dev/null
	@$(MAKE) --no-print-directory run-demo BIN=$(WORK)/venv/bin OUT=$(WORK)
	@test -s $(WORK)/lambdarank.html

lean: dist
	@$(MAKE) --no-print-directory run-lean

run-lean:
	@rm -rf build/lean
	@$(PYTHON) -m venv build/lean
	@build/lean/bin/python -m pip --disable-pip-version-check -qq install -c constraints.txt $(LEAN)
	@build/lean/bin/python -m pip --disable-pip-version-check -qq install --no-deps dist/rankwise-*.$(BUILT)
	@NUMBA_CACHE_DIR=$(CURDIR)/build/lean/kernels build/lean/bin/python -m tests.lean --most-mb $(LEAN_MB)

release-check: dist $(VENV)/.test
	@RANKWISE_ARCHIVES=dist $(BIN)/python -m pytest -q tests/repository
	@for python in $(PYTHONS); do for built in whl tar.gz; do \
		echo "$$built on $$python"; \
		$(MAKE) --no-print-directory run-built-demo PYTHON=$$python BUILT=$$built || exit 1; \
	done; done

version:
	@sed -n 's/^RELEASE = "\(.*\)"$$/\1/p' src/rankwise/_version.py

notes:
	@awk -v version="$$($(MAKE) --no-print-directory version)" \
		'/^## /{on = $$2 == version; next} on' CHANGELOG.md

clean:
	@rm -rf $(VENV) $(OUT) .numba-cache .numba-cache-boundscheck docs/_build docs/auto_examples docs/generated dist build

$(VENV)/.python:
	@$(CHECK_PYTHON)
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml papers/pyproject.toml constraints.txt
	@echo "Installing rankwise[gbdt] and rankwise-papers into $(VENV)"
	@$(PIP) install -c constraints.txt -e ".[gbdt]" -e ./papers
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml papers/pyproject.toml constraints.txt
	@echo "Installing rankwise-papers and rankwise with everything but neural into $(VENV)"
	@$(INSTALL_$(DEPENDENCIES)) -e ".[gbdt,eval,dask,onnx,test,docs]" -e "./papers[baselines]"
	@touch $(VENV)/.demo $@

$(BUILDER)/.ready: constraints.txt
	@$(CHECK_PYTHON)
	@$(PYTHON) -m venv $(BUILDER)
	@$(BUILDER)/bin/python -m pip --disable-pip-version-check -qq install -c constraints.txt build hatchling
	@touch $@

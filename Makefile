# The front door. `make demo` and `make test` need Python >= 3.11 and pip, nothing else: they make
# .venv and install what they need, at the versions of constraints.txt.

PYTHON ?= python3
WORKERS ?= 2
PYTEST_ARGS ?=
CASES ?= 5000
MUTANTS ?= 300
SECONDS ?= 7200

VENV := .venv
BIN := $(VENV)/bin

# The first holds for the packages themselves (and, in pip before 25.3, for the build environment),
# the second for the build environment in later versions. Relative, since pip splits at spaces.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export MPLBACKEND := Agg
# Bytecode is worth writing: every test process would compile the sources again.
unexport PYTHONDONTWRITEBYTECODE

ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Allocators that give back what is free: else it looks like a leak from outside (docs/trust.md).
GIVING_BACK := ARROW_DEFAULT_MEMORY_POOL=system MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072
PYTEST_OPTIONS := -n $(WORKERS) --dist worksteal
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest $(PYTEST_OPTIONS)

# Packages whose versions are worth a line in the log.
SHOWN := /^(numpy|scipy|scikit-learn|onnx|onnxruntime|pandas|dask)$$/

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo quick test test-all test-newest test-lowest test-exports lint audit house docs dist bench fuzz corpora kills soak load coverage mutation matrix reproduce clean distclean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.installed-demo  ## find the wrong cells of a table, tell digits apart by VCA(X, Y), explain an alarm
	@printf '\n=== A table: which cell is wrong?\n\n'
	$(ONE_THREAD) $(BIN)/vanishing check examples/data/accounts.csv --id month
	@printf '\n=== Points: what tells X from Y? VCA(X, Y) on images of digits\n\n'
	$(ONE_THREAD) $(BIN)/python examples/digits_demo.py
	@printf '\n=== Images: what is wrong with this one?\n\n'
	$(ONE_THREAD) $(BIN)/python examples/digits_alarm_demo.py
	@printf '\n=== A machine: equations, alarms and a report\n\n'
	$(ONE_THREAD) $(BIN)/vanishing demo demo_output/pump
	@echo "(before these: source $(BIN)/activate)"

# Without the folders of the applications, experiments and documentation.
quick: $(VENV)/.installed-test  ## run the tests of the library, except slow ones and those that start programs
	$(PYTEST) -m "not slow and not gpu and not programs" --ignore=tests/app --ignore=tests/benchmarks \
	  --ignore=tests/experiments --ignore=tests/project $(PYTEST_ARGS)

test: $(VENV)/.installed-test  ## run the tests, except the slow ones
	$(PYTEST) -m "not slow and not gpu" $(PYTEST_ARGS)

test-all: $(VENV)/.installed-test  ## run the tests, slow ones included
	$(PYTEST) -m "not gpu" $(PYTEST_ARGS)

# constraints.txt hides what other versions do. These two have their own environments, without torch,
# which brings gigabytes along for a GPU. `make distclean` first for what came out since.
test-newest: .venv-newest/.installed  ## run the tests with the newest versions of everything
	$(ONE_THREAD) .venv-newest/bin/python -m pytest $(PYTEST_OPTIONS) -m "not slow and not gpu" $(PYTEST_ARGS)

test-lowest: .venv-lowest/.installed  ## run the tests with the lowest versions that pyproject.toml allows
	$(ONE_THREAD) .venv-lowest/bin/python -m pytest $(PYTEST_OPTIONS) -m "not slow and not gpu" $(PYTEST_ARGS)

test-exports: .venv-exports/.installed  ## run exported rules in dbt, pandera, pointblank and Great Expectations
	$(ONE_THREAD) .venv-exports/bin/python -m pytest tests/rules/test_exports.py $(PYTEST_ARGS)

lint: $(VENV)/.installed-lint  ## check style, types, layers, workflow files and changelog fragments
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --quiet .github
	@echo "$(BIN)/check-jsonschema"
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.github-issue-forms \
	  .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.dependabot .github/dependabot.yml
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.citation-file-format CITATION.cff
	@echo "$(BIN)/towncrier build --draft"
	@out=$$($(BIN)/towncrier build --draft --version next 2>&1) || { echo "$$out" >&2; exit 1; }

audit:  ## look up known vulnerabilities of the packages in constraints.txt; needs the network
	@PIP_CONSTRAINT= PIP_BUILD_CONSTRAINT= "$(PYTHON)" tools/audit.py

house: $(VENV)/.installed-test  ## measure the source tree: files, lines, files that a call runs through
	$(BIN)/python tools/house.py

docs: $(VENV)/.installed-docs  ## build the documentation into docs/_build/html, run its gallery
	$(ONE_THREAD) $(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The environments of the checks hold what users get: no constraints.
dist: $(VENV)/.installed-test  ## build the wheel and the sdist into dist, and test them in empty environments
	PIP_CONSTRAINT= PIP_BUILD_CONSTRAINT= $(ONE_THREAD) $(BIN)/python tools/distribution.py

bench: $(VENV)/.installed-demo  ## measure time and memory, and say what became slower
	$(ONE_THREAD) $(BIN)/python -m benchmarks.speed

fuzz: $(VENV)/.installed-test  ## compare random fits with exact arithmetic, and damage files of rules; CASES=100000 for more
	$(ONE_THREAD) $(BIN)/python -m benchmarks.campaigns.differential --cases $(CASES) --jobs $(WORKERS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.campaigns.rules_files

corpora: $(VENV)/.installed-test  ## send the tables below VANISHING_DATA through every command, also damaged
	$(ONE_THREAD) $(BIN)/python -m benchmarks.campaigns.corpora --jobs $(WORKERS)

# About twice as long as make test. The figure is for the library and its applications without what
# needs a GPU; the folders that test something else are left out.
coverage: $(VENV)/.installed-test  ## run the tests and measure the branches that they take
	$(PYTEST) -m "not slow and not gpu" --cov --cov-report= --ignore=tests/benchmarks \
	  --ignore=tests/experiments --ignore=tests/project $(PYTEST_ARGS)
	$(BIN)/python tools/coverage_results.py --least 97

mutation: $(VENV)/.installed-mutation  ## change the code in MUTANTS places, count what tests notice; MUTANTS=all for all
	$(ONE_THREAD) $(BIN)/python tools/mutation.py --mutants $(MUTANTS) --workers $(WORKERS)

matrix: $(VENV)/.installed-test  ## try Python 3.11 to 3.14 with the newest, lowest and fewest packages
	$(BIN)/python tools/matrix.py --workers $(WORKERS)

kills: $(VENV)/.installed-test  ## kill and interrupt writers at random moments, fill the disk; an hour
	$(ONE_THREAD) $(BIN)/python -m benchmarks.campaigns.kills

soak: $(VENV)/.installed-test  ## work for SECONDS in one process, two hours, and see whether memory grows
	$(ONE_THREAD) $(GIVING_BACK) $(BIN)/python -m benchmarks.campaigns.soak --seconds $(SECONDS)

load: $(VENV)/.installed-test  ## put the playground under the load of 200 clients
	$(ONE_THREAD) $(BIN)/python -m benchmarks.playground.load

reproduce: $(VENV)/.installed-test  ## make the paper's tables and figures, ours beside them
	$(BIN)/python -m experiments $(EXPERIMENTS)

clean:  ## remove caches and built files, keep environments
	rm -rf build dist htmlcov demo_output .coverage .coverage.* .hypothesis .import_linter_cache \
	  .mypy_cache .pytest_cache .ruff_cache docs/_build docs/auto_examples docs/generated docs/reference \
	  docs/sg_execution_times.rst
	find . -name '.venv*' -prune -o -name .git -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean  ## the same, and environments
	rm -rf $(VENV) .venv-audit .venv-newest .venv-lowest .venv-exports

# One stamp for each set of extras; demo installs no torch, so that it is quick.
$(VENV)/.installed-demo: EXTRAS := cli,web
$(VENV)/.installed-test: EXTRAS := test
$(VENV)/.installed-mutation: EXTRAS := mutation
$(VENV)/.installed-lint: EXTRAS := lint
$(VENV)/.installed-docs: EXTRAS := docs

$(VENV)/.installed-%: $(VENV)/.created pyproject.toml constraints.txt
	@echo "Installing vanishing[$(EXTRAS)] into $(VENV) (the first time takes a minute or more) ..."
	@$(BIN)/python -m pip install -qq -e ".[$(EXTRAS)]"
	@touch $@

$(VENV)/.created:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "error: no '$(PYTHON)' found; name a Python >= 3.11, as in: make test PYTHON=python3.11" >&2; \
	  exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: vanishing needs Python >= 3.11, and $(PYTHON) is $$("$(PYTHON)" --version 2>&1);" \
	    "name another one, as in: make test PYTHON=python3.11" >&2; \
	  exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	@touch $@

.venv-newest/.installed: pyproject.toml
	@python=$$(tools/find_python python3.13 python3.12) || { \
	  python="$(PYTHON)"; \
	  echo "no Python 3.13 or 3.12 found: the newest versions are those for $$("$(PYTHON)" --version)"; }; \
	"$$python" -m venv --clear .venv-newest
	@echo "Installing the newest versions into .venv-newest (takes a minute or more) ..."
	@PIP_CONSTRAINT= PIP_BUILD_CONSTRAINT= \
	  .venv-newest/bin/python -m pip install -qq -e ".[test-without-torch]"
	@.venv-newest/bin/python -m pip list | awk 'tolower($$1) ~ $(SHOWN)'
	@touch $@

.venv-exports/.installed: pyproject.toml
	"$(PYTHON)" -m venv --clear .venv-exports
	@echo "Installing tools that check tables into .venv-exports (takes a minute or more) ..."
	@PIP_CONSTRAINT= PIP_BUILD_CONSTRAINT= .venv-exports/bin/python -m pip install -qq -e ".[test-exports]" "dbt-core<1.11" "dbt-duckdb<1.11"
	@touch $@

# Later Pythons have no wheels of the lowest versions.
.venv-lowest/.installed: pyproject.toml tools/lowest_versions.py
	@python=$$(tools/find_python python3.11) || { \
	  echo "error: no Python 3.11 found, the lowest version that is supported" >&2; exit 1; }; \
	"$$python" -m venv --clear .venv-lowest
	@.venv-lowest/bin/python tools/lowest_versions.py test-without-torch >.venv-lowest/constraints.txt
	@echo "Installing the lowest versions into .venv-lowest (takes a minute or more) ..."
	@PIP_CONSTRAINT=.venv-lowest/constraints.txt PIP_BUILD_CONSTRAINT= \
	  .venv-lowest/bin/python -m pip install -qq -e ".[test-without-torch]"
	@.venv-lowest/bin/python -m pip list | awk 'tolower($$1) ~ $(SHOWN)'
	@touch $@

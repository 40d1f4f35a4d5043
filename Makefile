# `make demo` and `make test` do all the set-up they need: see scripts/setup.sh.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PYO3_PYTHON := $(abspath $(BIN)/python)
# Fixed seed of property-based tests (tests/conftest.py likewise). Other cases:
# PROPTEST_CASES=20000 cargo test -p dumbbell-sim
export PROPTEST_RNG_SEED ?= 1
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# An active virtual environment must not replace .venv.
unexport VIRTUAL_ENV
unexport CONDA_PREFIX

# cargo fmt does not find modules that a macro over the catalogue declares.
RUST_FILES = $(shell find crates fuzz -name '*.rs' -not -path '*/target/*')

.PHONY: help build wheel wheel-aarch64 sdist release-check kernel demo check docs test test-all rust lint format bench bench-all bench-capture bench-controls bench-queues page-load lock pages size clean

help:
	@echo "make build   set up .venv and build everything into it"
	@echo "make kernel  build the kernel of the engine linux (some minutes; kept in the cache)"
	@echo "make demo    run the first parts of the study 'multipath', print its tables"
	@echo "make check   formatting, types, unit tests: about three minutes, without a kernel or a browser"
	@echo "make test    every test and every check, with few seeds where chance decides"
	@echo "make test-all   the same with all seeds, cells and kills (docs/reliability.md)"
	@echo "make docs    the documentation as a site, site/docs/index.html"
	@echo "make lint    the checks alone"
	@echo "make format  rewrite sources in the agreed format"
	@echo "make size    lines of the sources by room and kind"
	@echo "make wheel   dist/*.whl for x86-64 and glibc 2.17 or newer; make wheel-aarch64"
	@echo "make sdist   dist/*.tar.gz, which builds a wheel where cargo is"
	@echo "make release-check   what can be checked before a release (docs/release.md)"
	@echo "make bench   speed and memory of the simulator; PEERS=1: beside ns-2 and ns-3"
	@echo "make bench-all   the same, instructions and growth with flows, and the pages that show them"
	@echo "make bench-capture  speed and memory of dumbbell capture, beside tshark and tcptrace"
	@echo "make page-load   a browser's page load, captured and described (root, Debian's nginx, chromium)"
	@echo "make bench-queues   time per packet, by queue discipline"
	@echo "make bench-controls time per packet, by congestion control"

$(VENV)/.ready: requirements.lock scripts/setup.sh
	@PYTHON="$(PYTHON)" scripts/setup.sh $(VENV)
	@touch $@

build: $(VENV)/.ready
	@VIRTUAL_ENV="$(abspath $(VENV))" $(BIN)/maturin develop --release --quiet
	@scripts/build-guest.sh
	@scripts/build-playground.sh $(VENV)

wheel: $(VENV)/.ready
	@scripts/build-wheel.sh x86_64 $(VENV)

wheel-aarch64: $(VENV)/.ready
	@scripts/build-wheel.sh aarch64 $(VENV)

sdist: $(VENV)/.ready
	@$(BIN)/maturin sdist --out dist

release-check: build wheel sdist
	$(PYTHON) -m venv $(VENV)/cffconvert
	$(VENV)/cffconvert/bin/pip install "cffconvert==2.0.0"
	$(VENV)/cffconvert/bin/cffconvert --validate --infile CITATION.cff
	DUMBBELL_NEWCOMER_INDEX=1 $(BIN)/pytest tests/packages tests/newcomer tests/test_editors.py

kernel: build
	@$(BIN)/dumbbell kernel build

demo: build
	@$(BIN)/dumbbell study run multipath --part single-vs-multi --part delay \
		--repeats 2 --store demo/store --json demo/tables.json
	@$(BIN)/dumbbell report demo/store -o demo/report.html
	@echo
	@echo "The whole study (10 repeats, all parts):"
	@echo "  $(BIN)/dumbbell study run multipath --store multipath/store"
	@echo "  $(BIN)/dumbbell report multipath/store -o multipath/report.html"

# The documentation as a site: site/docs/index.html. Warnings, as of a broken link, are errors.
docs: $(VENV)/.ready
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -j auto -c docs . site

lint: $(VENV)/.ready
	rustfmt --edition 2021 --check $(RUST_FILES)
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	scripts/check-pages.sh $(VENV)
	$(BIN)/codespell *.md docs dumbbell crates studies examples scripts

# Fast checks while a change is written. `make test` has the rest.
check: build lint
	cargo test --workspace --lib --quiet
	$(BIN)/pytest --numprocesses "$$(nproc)" --maxprocesses 8 --dist loadfile \
		-m "not slow and not kernel and not browser and not root and not peers"

# Processor time beyond tests/budget.toml is an error. Files with a long budget are first.
PYTEST = $(BIN)/pytest --numprocesses "$$(( $$(nproc) + 1 ))" --maxprocesses 8 --dist loadfile \
	--no-loadscope-reorder --durations 20

# Kernels are built beside the lint and the tests in Rust. Without a usable kernel one test fails with
# the reason; the others run.
test: build
	@scripts/test-tools.sh
	@scripts/beside-kernels.sh $(VENV) $(MAKE) --no-print-directory lint rust
	$(PYTEST) --budget

test-all: build
	@scripts/test-tools.sh
	@scripts/beside-kernels.sh $(VENV) $(MAKE) --no-print-directory lint rust
	DUMBBELL_ALL=1 $(PYTEST)

rust: $(VENV)/.ready
	cargo test --workspace --quiet
	$(BIN)/python -m mypy.stubtest dumbbell._core --ignore-disjoint-bases

# What the program and the tables say, in all generated pages. The last ones read the pages before them.
pages: build
	@for page in scenario_types sections catalogue_page field_index metrics_page tables_page errors_page format playground_page \
		agreement model_pages reference_pages gym_page; do \
		$(BIN)/python -m tests.write_$$page || exit 1; done

format: $(VENV)/.ready
	rustfmt --edition 2021 $(RUST_FILES)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# PEERS=1: beside ns-2 and ns-3; HTSIM=FOLDER with the sources of csg-htsim: also beside htsim.
bench: build
	$(BIN)/python benchmarks/run.py $(if $(PEERS),--peers) $(if $(HTSIM),--htsim "$(HTSIM)")
	$(BIN)/python benchmarks/pages.py

bench-all: bench
	$(BIN)/python benchmarks/instructions.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/pages.py

bench-capture: build
	$(BIN)/python benchmarks/capture.py

bench-queues: build
	$(BIN)/python benchmarks/queues.py

bench-controls: build
	$(BIN)/python benchmarks/controls.py

# The results stay in page-load/. describe.py with this folder renews docs/page-load.md.
page-load: build
	$(BIN)/python studies/web/page/load.py -o page-load
	$(BIN)/dumbbell capture page-load/page.pcap

size:
	@$(PYTHON) scripts/size.py

# Renews the lock file with the newest versions that pyproject.toml allows.
lock:
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet \
		$$($(PYTHON) -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; print(*(repr(d) for d in p["dependencies"] + p["optional-dependencies"]["dev"]))' | tr -d "'")
	(echo "# Exact versions of everything that is installed into .venv. Renew with 'make lock'."; \
		$(BIN)/pip freeze) > requirements.lock

clean:
	rm -rf $(VENV) target dist dumbbell/_core*.so

# `make` lists the targets. Two matter: `make run` and `make test`.
PYTHON ?= $(or $(shell command -v python3.11),python3)
# Compiled modules are kept, also where the environment says otherwise: every process of the tests imports them.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
# Where builds of torch lie beside the default index. Those for CPUs are 200 MB, those for NVIDIA GPUs several gigabytes.
TORCH_INDEX ?= $(if $(shell command -v nvidia-smi),,https://download.pytorch.org/whl/cpu)
PLUGINS := $(wildcard plugins/*/pyproject.toml)
STAMP := $(VENV)/.installed
# Two processes of one thread each: threads that wait for each other's cores take longer.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal --durations=30 --durations-min=1

.DEFAULT_GOAL := help
.PHONY: help setup run test test-ci test-all test-ray test-gpu test-lowest conformance faults soak sbom audit lock generators typescript lint docs bench clean

help:  ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(STAMP)  ## Install everything into .venv, pinned by constraints.txt.

$(STAMP): pyproject.toml client/pyproject.toml research/pyproject.toml $(PLUGINS) constraints.txt
	rm -rf *.egg-info client/*.egg-info research/*.egg-info plugins/*/*.egg-info  # stale ones would hide new entry points
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -qq --no-deps --retries 0 -c constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch
	$(BIN)/pip install -qq -c constraints.txt -e 'client[haystack,langchain,llama-index,mcp]' \
		-e '.[bucket,cpu,facets,files,oidc,postgres,ray,telemetry,webhooks,dev]' -e research $(PLUGINS:%/pyproject.toml=-e %)
	touch $(STAMP)

run: setup  ## Index the samples, and serve the page and the API on http://127.0.0.1:8000.
	$(BIN)/spanseek index --collection sample --source samples/documents
	@echo
	@echo 'The page: http://127.0.0.1:8000/?q=I+never+received+my+package'
	@echo "From another shell: $(BIN)/spanseek search 'I never received my package' --collection sample"
	@echo
	$(BIN)/spanseek serve

# The core. `make test TESTS=plugins/files` runs other tests instead.
TESTS ?= tests models indexer app client --ignore tests/research
test: setup  ## Run the core's tests, in five minutes on two idle cores.
	$(PYTEST) $(TESTS)

# What `.ci/run` adds to `make test`: longer tests, and those of research and of plug-ins that changed.
test-ci: setup  ## Run what continuous integration adds to `make test`.
	$(PYTEST) -m 'ci and not slow' tests --ignore tests/research
	set -- $$($(BIN)/python -m tests.changed); if [ $$# -gt 0 ]; then $(PYTEST) -m 'not slow' "$$@"; fi

# Generators of clients, apart from the product: their dependencies differ.
generators: .generators/.installed  ## Install generators of API clients, for the tests that run them.

.generators/.installed:
	$(PYTHON) -m venv .generators
	.generators/bin/pip install -qq 'openapi-python-client>=0.29,<0.30' ruff
	if command -v npm > /dev/null; then npm install --silent --no-save --prefix .generators 'openapi-typescript@7' 'typescript@5'; fi
	touch $@

# The TypeScript client: its types from the server's code, then client/typescript/dist.
typescript: setup generators  ## Build the TypeScript client.
	$(BIN)/python -m docs.openapi_document client/typescript/openapi.json
	ln -sfn ../../.generators/node_modules client/typescript/node_modules
	cd client/typescript && npm run --silent build

# Every database, executor, theme, wheel and generator; property tests with a fresh seed, which SEED=N repeats.
SEED ?= $(shell $(PYTHON) -c 'import secrets; print(secrets.randbelow(10**9))')
test-all: setup  ## Run every test, before a release: hours. SEED=N repeats a run of the property tests.
	-$(MAKE) generators  # without them their tests are skipped
	@echo 'Property tests: SEED=$(SEED)'
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m '' --hypothesis-seed=$(SEED)
	$(MAKE) sbom audit

# All routes by the actors of a Ray cluster on this machine, then what such a cluster promises; ten minutes and more.
test-ray: setup  ## Run all routes on a Ray cluster of this machine.
	TEST_EXECUTOR=ray OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m 'not slow' tests/integration/http
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m '' plugins/ray tests/contracts/test_executors.py

# Every operation of the HTTP API with 200 requests that its description allows or does not; it takes minutes.
conformance: setup  ## Send 200 valid and invalid requests to every operation of the HTTP API.
	OPENAPI_EXAMPLES=200 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m slow tests/e2e/test_openapi_conformance.py

# What docs/reliability.md promises, as often as FAULT_ROUNDS says; one round takes hours. The suite runs a short form.
FAULT_ROUNDS ?= 1
faults: setup  ## Prove every promise of docs/reliability.md: hours.
	FAULT_ROUNDS=$(FAULT_ROUNDS) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m '' tests/faults

# Ten times the load that a server bears, then mixed load, for so many seconds each.
SECONDS ?= 300
soak: setup  ## Overload a server, then run mixed load, for SECONDS each.
	$(BIN)/python -m tests.faults.soak overload --seconds $(SECONDS)
	$(BIN)/python -m tests.faults.soak soak --seconds $(SECONDS)

# A bill of materials of what is installed (CycloneDX, sbom.json), and known vulnerabilities of what constraints.lock
# pins, which asks a database on the network. Their tools live apart from the product.
sbom: setup .supply/.installed  ## Write a bill of materials (CycloneDX, sbom.json).
	.supply/bin/cyclonedx-py environment --output-reproducible --output-file sbom.json $(BIN)/python

audit: .supply/.installed  ## Ask for known vulnerabilities of the pinned versions.
	.supply/bin/pip-audit --requirement constraints.lock --require-hashes --disable-pip

# The hashes of all files of the versions in constraints.txt, as the package index has them.
lock: .supply/.installed  ## Write the hashes of the pinned versions into constraints.lock.
	.supply/bin/uv pip compile --quiet --no-deps --generate-hashes --no-header --no-annotate --python-version 3.11 \
		constraints.txt --output-file constraints.lock

.supply/.installed:
	$(PYTHON) -m venv .supply
	.supply/bin/pip install -qq 'cyclonedx-bom>=7.5,<8' 'pip-audit>=2.10,<3' 'uv>=0.8,<1'
	touch $@

lint: setup  ## Check style, types, layers, sizes and the reasons of slow tests.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/python -m tests.lint
	$(BIN)/mypy

# The tables of options in docs, from the code.
docs: setup  ## Write the tables of options in docs from the code.
	$(BIN)/python -m docs.generate

bench: setup  ## Benchmark indexing and search on the samples.
	$(BIN)/python -m research.benchmarks.indexing --source samples/documents
	$(BIN)/spanseek bench --source samples/documents --units 1e4 --queries 100 --engines scan,faiss_flat_spans,bm25s

clean:  ## Remove what these targets have made.
	rm -rf $(VENV) .generators .lowest .supply sbom.json build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

# tests/device on the first GPU of this machine, which `make test` runs on a fake one. torch and FAISS must support it.
test-gpu: setup  ## Test on the first GPU what `make test` tests on a fake one.
	TEST_DEVICE=cuda OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/device

# The lowest versions that pyproject.toml allows of the packages that compute, in an environment of its own, and the tests
# that show what is missing there.
LOWEST := torch==2.6.0 transformers==4.56.0 tokenizers==0.22.0 numpy==2.0.0 numba==0.61.0 llvmlite==0.44.0 safetensors==0.4.5 \
	faiss-cpu==1.9.0
test-lowest: .lowest/.installed  ## Test with the lowest versions that pyproject.toml allows.
	OMP_NUM_THREADS=1 .lowest/bin/python -m pytest tests/device tests/unit/models tests/contracts/test_encoders.py

.lowest/.installed: pyproject.toml client/pyproject.toml
	$(PYTHON) -m venv .lowest
	.lowest/bin/pip install -qq torch==2.6.0 $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
	.lowest/bin/pip install -qq $(LOWEST) -e client -e '.[cpu,files,dev]' -e research $(PLUGINS:%/pyproject.toml=-e %)
	touch $@

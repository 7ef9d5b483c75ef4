# Two commands matter: `make run` and `make test`. Everything else is theirs, or for those who change the code.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# Where torch comes from, if not from the default index: an index of CPU-only builds spares a few gigabytes.
TORCH_INDEX ?=
STAMP := $(VENV)/.installed

.PHONY: setup run test test-all test-ray test-gpu test-lowest conformance faults soak sbom audit generators typescript lint docs bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml client/pyproject.toml research/pyproject.toml constraints.txt
	rm -rf *.egg-info client/*.egg-info research/*.egg-info  # stale ones would hide new entry points
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -qq --upgrade pip
	$(BIN)/pip install -qq -c constraints.txt torch $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	$(BIN)/pip install -qq -c constraints.txt -e 'client[haystack,langchain,llama-index,mcp]' \
		-e '.[cluster,cpu,files,oidc,postgres,ray,telemetry,dev]' -e research
	touch $(STAMP)

run: setup
	$(BIN)/spanseek index --collection sample --source samples/documents
	$(BIN)/spanseek serve

# The product without its long tests. Two processes, each of one thread: threads that wait for each other's cores take longer.
test: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal tests models indexer app client --ignore tests/research

# Generators of clients, apart from the product: their dependencies differ.
generators: .generators/.installed

.generators/.installed:
	$(PYTHON) -m venv .generators
	.generators/bin/pip install -qq 'openapi-python-client>=0.29,<0.30' ruff
	if command -v npm > /dev/null; then npm install --silent --no-save --prefix .generators 'openapi-typescript@7' 'typescript@5'; fi
	touch $@

# The TypeScript client: its types from the server's code, then client/typescript/dist.
typescript: setup generators
	$(BIN)/python -m docs.openapi_document client/typescript/openapi.json
	ln -sfn ../../.generators/node_modules client/typescript/node_modules
	cd client/typescript && npm run --silent build

# Everything, research and the long tests included: what continuous integration runs. What failed beside others runs
# once more, alone; a test that passes then is flaky, and listed.
test-all: setup
	-$(MAKE) generators  # without them their tests are skipped
	export HYPOTHESIS_PROFILE=thorough OMP_NUM_THREADS=1; \
	$(BIN)/python -m pytest -n 2 --dist worksteal -m '' || { [ $$? = 1 ] && $(BIN)/python -m pytest -v -m '' --last-failed --last-failed-no-failures none --maxfail 1 \
		&& echo 'Flaky: the tests above failed first and passed alone. Mend them.'; }

# All routes by the actors of a Ray cluster on this machine, then what such a cluster promises; ten minutes and more.
test-ray: setup
	TEST_EXECUTOR=ray OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile tests/integration/http
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m '' tests/integration/test_cluster.py tests/integration/test_cluster_nodes.py \
		tests/integration/test_cluster_buckets.py tests/contracts/test_executors.py tests/faults/test_cluster_faults.py

# Every operation of the HTTP API with 200 requests that its description allows or does not; it takes minutes.
conformance: setup
	OPENAPI_EXAMPLES=200 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m slow tests/e2e/test_openapi_conformance.py

# What docs/reliability.md promises, as often as FAULT_ROUNDS says; one round takes hours. The suite runs a short form.
FAULT_ROUNDS ?= 1
faults: setup
	FAULT_ROUNDS=$(FAULT_ROUNDS) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m '' tests/faults

# Ten times the load that a server bears, then mixed load, for so many seconds each.
SECONDS ?= 300
soak: setup
	$(BIN)/python -m tests.faults.soak overload --seconds $(SECONDS)
	$(BIN)/python -m tests.faults.soak soak --seconds $(SECONDS)

# A bill of materials of what is installed (CycloneDX, sbom.json), and known vulnerabilities of what constraints.txt pins,
# which asks a database on the network. Their tools live apart from the product.
sbom: setup .supply/.installed
	.supply/bin/cyclonedx-py environment --output-reproducible --output-file sbom.json $(BIN)/python

audit: .supply/.installed
	.supply/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip

.supply/.installed:
	$(PYTHON) -m venv .supply
	.supply/bin/pip install -qq 'cyclonedx-bom>=7.5,<8' 'pip-audit>=2.10,<3'
	touch $@

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# The tables of options in docs, from the code.
docs: setup
	$(BIN)/python -m docs.generate

bench: setup
	$(BIN)/python -m research.benchmarks.indexing --source samples/documents
	$(BIN)/spanseek bench --source samples/documents --units 1e4 --queries 100 --engines scan,faiss_flat_spans,bm25s

clean:
	rm -rf $(VENV) .generators .lowest .supply sbom.json build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

# tests/device on the first GPU of this machine, which `make test` runs on a fake one. torch and FAISS must support it.
test-gpu: setup
	TEST_DEVICE=cuda OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/device

# The lowest versions that pyproject.toml allows of the packages that compute, in an environment of its own, and the tests
# that show what is missing there.
LOWEST := torch==2.6.0 transformers==4.56.0 tokenizers==0.22.0 numpy==2.0.0 numba==0.61.0 llvmlite==0.44.0 safetensors==0.4.5 \
	faiss-cpu==1.9.0
test-lowest: .lowest/.installed
	OMP_NUM_THREADS=1 .lowest/bin/python -m pytest tests/device tests/unit/models tests/contracts/test_encoders.py

.lowest/.installed: pyproject.toml client/pyproject.toml
	$(PYTHON) -m venv .lowest
	.lowest/bin/pip install -qq torch==2.6.0 $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	.lowest/bin/pip install -qq $(LOWEST) -e client -e '.[cpu,files,dev]' -e research
	touch $@

"""Before anything is imported: shapes are checked while tests run, and no setting of the machine leaks in."""

import os
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest
from jaxtyping import install_import_hook

from tests import checking
from tests.costs import Costs
from tests.examples import examples

# Kernels are left out: numba compiles them, and their wrappers' shapes are the callers' as well.
CHECKED = [
    "research.benchmarks.case",
    "research.benchmarks.corpus",
    "research.benchmarks.exact",
    "research.benchmarks.passages",
    "research.benchmarks.phrases",
    "research.benchmarks.spans",
    "models.artifacts",
    "models.backbones.files",
    "models.backbones.torch_network",
    "models.encoders",
    "models.errors",
    "models.backbones.layers",
    "models.backbones.folders",
    "models.backbones.transformers_network",
    "models.ops",
    "models.backbones.packages",
    "models.backbones.query_network",
    "models.tensors",
    "models.backbones.tokenizer",
    "models.text.tokens",
    "models.types",
    "models.text.units",
    "indexer.ann",
    "indexer.sources.documents",
    "indexer.indexing.encode",
    "indexer.engine.executor",
    "indexer.engine.exhaustive_count",
    "indexer.engine.named_spans",
    "indexer.engine.multi_query",
    "indexer.nuggets",
    "indexer.engine.scan",
    "indexer.engine.selection",
    "indexer.engine.snapshot",
    "indexer.engine.views",
    "indexer.engine.place",
    "indexer.engine.query",
    "indexer.engine.rows",
    "indexer.engine.warm",
    "indexer.phrases",
    "indexer.segments",
    "indexer.indexing.text_segments",
    "indexer.tuning",
    "indexer.types",
    "indexer.indexing.windows",
]
# Engines have packages in environments of their own; all conftests share one module name, so none is read for doctests.
collect_ignore_glob = ["research/benchmarks/engines/*", "tests/*conftest.py"]
# Integrations whose framework is not installed.
FRAMEWORKS = {"haystack": "haystack", "langchain": "langchain_core", "llama_index": "llama_index"}
collect_ignore_glob += [
    f"client/spanseek/integrations/{name}.py" for name, package in FRAMEWORKS.items() if find_spec(package) is None
]
collect_ignore_glob += ["client/spanseek/mcp/*"] if find_spec("mcp") is None else ["client/spanseek/mcp/__main__.py"]
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
_TESTS = Path(__file__).parent / "tests"
_HTTP, _PAGE = _TESTS / "integration" / "http", _TESTS / "e2e" / "page"
checking.install()
install_import_hook(CHECKED, "tests.checking.checked")

for name in [name for name in os.environ if name.startswith("SPANSEEK_")]:
    del os.environ[name]
os.environ["TOKENIZERS_PARALLELISM"] = "false"

hypothesis.settings.register_profile(
    "spanseek",
    derandomize=True,
    deadline=None,
    max_examples=examples(60),
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile("spanseek")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests of HTTP and of the page their tiers.

    HTTP tests run on SQLite in CI and on PostgreSQL in `make test-all`, those marked ``smoke`` a tier earlier. Those of
    the page, which drive a browser, run in `make test-all`.
    """
    for item in items:
        is_smoke = item.get_closest_marker("smoke") is not None
        if item.get_closest_marker("postgresql") is not None:
            item.add_marker("ci" if is_smoke else "slow")
        elif item.path.is_relative_to(_PAGE):
            item.add_marker("slow")
        elif item.path.parent == _HTTP and not is_smoke:
            item.add_marker("ci")


def pytest_configure(config: pytest.Config) -> None:
    """Count the CPU time of tests; ``TEST_COSTS`` names a file for the figures of all."""
    config.pluginmanager.register(Costs(os.environ.get("TEST_COSTS")))


@pytest.fixture(autouse=True, scope="session")
def _two_threads() -> None:
    """More threads than this only wait for each other on the models that tests use."""
    import torch

    torch.set_num_threads(min(2, os.cpu_count() or 1))


@pytest.fixture(autouse=True)
def _single_precision(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Compute in float32 on every processor, so that tolerances hold where others are native too (ADR 4, ADR 57)."""
    if request.node.get_closest_marker("native_precision") is None:
        monkeypatch.setattr("models.backbones.torch_network.has_native_bf16", lambda device: False)
        monkeypatch.setattr("models.encoders.slice.multiplies_bfloat16", lambda: False)
        monkeypatch.setattr("models.verifier.network.has_byte_products", lambda: False)

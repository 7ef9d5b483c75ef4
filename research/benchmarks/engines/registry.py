"""The engines by name: what they find, and where their code is. Importing this imports none of them."""

from dataclasses import dataclass
from importlib import import_module

from models.errors import InvalidInput
from research.benchmarks.engines.base import BenchEngine, Finds


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """``environment`` names the folder of a virtual environment that has the engine's package; none for our own.

    ``reads_vectors`` is false for an engine that finds by something else, so that no exact answer is its own.
    """

    name: str
    finds: Finds
    what: str
    module: str
    factory: str
    environment: str | None = None
    reads_vectors: bool = True

    def make(self, memory_limit: int) -> BenchEngine:
        """The engine, in a process that has its package; it may use so many bytes of memory."""
        made: BenchEngine = getattr(import_module(self.module), self.factory)(memory_limit)
        return made


_ENTRIES = (
    EngineEntry("scan", "spans", "our exact scan of int8 units", "research.benchmarks.engines.scan", "Scan"),
    EngineEntry(
        "candidates",
        "spans",
        "our windows in FAISS, then an exact scan",
        "research.benchmarks.engines.scan",
        "Candidates",
    ),
    EngineEntry(
        "faiss_flat_spans",
        "spans",
        "FAISS IndexFlatIP, every span's vector",
        "research.benchmarks.engines.faiss_spans",
        "Flat",
    ),
    EngineEntry(
        "faiss_ivf_spans",
        "spans",
        "FAISS IVF, 8-bit, every span's vector",
        "research.benchmarks.engines.faiss_spans",
        "Ivf",
    ),
    EngineEntry(
        "faiss_hnsw_spans",
        "spans",
        "FAISS HNSW, 8-bit, every span's vector",
        "research.benchmarks.engines.faiss_spans",
        "Hnsw",
    ),
    EngineEntry(
        "turbovec",
        "spans",
        "turbovec, 4-bit, every span's vector",
        "research.benchmarks.engines.turbo",
        "Turbo",
        "turbovec",
    ),
    EngineEntry(
        "fast_plaid",
        "passages",
        "PLAID, 4-bit residuals of units",
        "research.benchmarks.engines.plaid",
        "Plaid",
        "fast_plaid",
    ),
    EngineEntry(
        "xtr_warp",
        "passages",
        "XTR-WARP, 4-bit residuals of units",
        "research.benchmarks.engines.warp",
        "Warp",
        "xtr_warp",
    ),
    EngineEntry(
        "lancedb",
        "passages",
        "LanceDB multi-vector, IVF_PQ of units",
        "research.benchmarks.engines.lance",
        "Lance",
        "lancedb",
    ),
    EngineEntry(
        "bm25s", "passages", "words alone, for scale", "research.benchmarks.engines.bm25", "Words", reads_vectors=False
    ),
)
ENGINES = {entry.name: entry for entry in _ENTRIES}


def entries(names: str) -> list[EngineEntry]:
    """Engines from their names, joined by commas; all of them for ``all``."""
    requested = list(ENGINES) if names == "all" else [name.strip() for name in names.split(",")]
    for name in requested:
        if name not in ENGINES:
            raise InvalidInput(
                f"There is no engine {name!r}.", hint=f"There is: {', '.join(ENGINES)}.", field="engines"
            )
    return [ENGINES[name] for name in requested]

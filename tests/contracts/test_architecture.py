"""What the documents say of the tree is true."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("research/notes/*.md")),
]
NAMED_PATH = re.compile(r"`((?:models|indexer|app|research|migrations|tests|docs|samples)/[\w./-]*\w)`")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")


@cache
def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_path_a_document_names_exists() -> None:
    named = {(document, path) for document in DOCUMENTS for path in NAMED_PATH.findall(document.read_text("utf-8"))}
    assert [f"{document.name}: {path}" for document, path in sorted(named) if not (ROOT / path).exists()] == []


def leads_somewhere(document: Path, link: str, fragment: str) -> bool:
    target = document.parent / link if link else document
    return target.exists() and (not fragment or fragment in anchors(target))


def test_every_link_of_a_document_leads_somewhere() -> None:
    links = [(document, *link) for document in DOCUMENTS for link in LINK.findall(document.read_text("utf-8"))]
    assert [f"{page.name}: {link}#{part}" for page, link, part in links if not leads_somewhere(page, link, part)] == []


def test_every_room_has_a_place_in_the_architecture() -> None:
    told = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    rooms = {
        f"{package}/{path.name}"
        for package in ("models", "indexer", "app")
        for path in (ROOT / package).iterdir()
        if path.is_dir() and (path / "__init__.py").exists()
    }
    assert {room for room in rooms if f"`{room}" not in told} == set()


# Rooms of one representation, or of several by their names.
OWN = (
    "app/search/modes/",
    "indexer/ann/faiss_gpu.py",  # spans and nuggets on a GPU
    "app/texts/",  # /compare, /summarize, /restore and /vectors as use cases
    "app/http/routes/restoring.py",
    "app/settings.py",  # the operator's folders of weights
)
CORE = [*(ROOT / "indexer" / name for name in ("engine", "segments", "kernels", "ann", "reading")), ROOT / "app"]
SOURCES = [str(path.relative_to(ROOT)) for place in CORE for path in sorted(place.rglob("*.py"))]


def naming(pattern: str, paths: Iterable[str]) -> list[str]:
    """The files that name something."""
    return [path for path in paths if re.search(f"(?i){pattern}", (ROOT / path).read_text("utf-8"))]


def test_core_rooms_name_no_representation() -> None:
    """What facets, nuggets and restorable vectors need stands in their packages and their modes."""
    assert naming("facet|nugget|restorable", (path for path in SOURCES if not path.startswith(OWN))) == []


def test_the_engine_names_no_mode() -> None:
    assert naming("maxsim", (path for path in SOURCES if path.startswith(("indexer/", "app/search/mode.py")))) == []


def test_no_exception_is_made_in_vain() -> None:
    named = naming("facet|nugget|restorable", SOURCES)
    assert [own for own in OWN if not any(path.startswith(own) for path in named)] == []


def test_the_executor_alone_loops_over_segments() -> None:
    """Besides it: what opens a snapshot or copies it, pairs rows with their segments, and reads documents in order."""
    loops = re.compile(r"(?:for .* in .*|zip\(|map\(|enumerate\().*\.views\b")
    sources = [path for package in ("app", "indexer") for path in sorted((ROOT / package).rglob("*.py"))]
    found = {str(path.relative_to(ROOT)): len(loops.findall(path.read_text("utf-8"))) for path in sources}
    assert {path: count for path, count in found.items() if count} == {
        "indexer/engine/executor.py": 2,
        "indexer/engine/snapshot.py": 2,
        "indexer/engine/views.py": 1,
        "indexer/reading/stored_documents.py": 1,
    }

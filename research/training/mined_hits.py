"""Wrong hits of real searches: for the phrase of a contrast line, other texts that a search finds first.

The texts are those of other lines, and on request sentences of calls, tickets, policies and an encyclopaedia.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from app.cli.console import open_services
from app.collections.documents import DocumentService
from app.collections.service import CollectionService
from app.requests import SearchRequest
from app.search.service import SearchService
from app.settings import Settings
from indexer.catalog import schema
from models.types import CharSpan, Document, Part
from models.verifier.types import Pair
from research.training.changed_sources import SOURCES
from research.training.changed_sources import sentences as sentences_of
from research.training.contrast_data import ContrastLine, read_contrast

_COLLECTION: Final = "written"
_HITS: Final = 40
_AT_ONCE: Final = 32
_SOURCES: Final = ("multidogo", "jira-storypoints", "policies", "enwiki")
_SEED: Final = 3
# A hit this similar, or nearly as similar as the line's own close text, may say the phrase after all.
_TOO_SIMILAR, _BELOW_OWN = 0.86, 0.04

Mined = dict[str, list[Pair]]


def mined_hits(settings: Settings, folder: Path, data: Path, sentences: int = 0, every: int = 4) -> Mined:
    """Wrong hits of every so many lines, by their ids; made in ``folder``, once.

    So many ``sentences`` of each source of the data sets in ``data`` are searched as well, and then for all lines.
    """
    path = folder / "mined.ndjson"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        with partial.open("w", encoding="utf-8") as file:
            settings = settings.model_copy(update={"data_dir": folder / "data"})
            real = _sentences(data, sentences) if sentences else {}
            for id, pairs in _searched(settings, 1 if real else every, real):
                rows = [[pair.phrase, pair.text, *mark] for pair, mark in pairs]
                file.write(json.dumps({"id": id, "hits": rows}) + "\n")
        partial.replace(path)
    lines = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return {line["id"]: [Pair(phrase, text, CharSpan(*mark)) for phrase, text, *mark in line["hits"]] for line in lines}


def _sentences(data: Path, count: int) -> dict[str, str]:
    """Real sentences by their ids: so many of every source."""
    return {
        f"{name}/{number}": sentence
        for name in _SOURCES
        for number, sentence in enumerate(sentences_of(SOURCES[name](data), _SEED, count))
    }


def _searched(
    settings: Settings, every: int, real: dict[str, str]
) -> Iterator[tuple[str, list[tuple[Pair, tuple[int, int]]]]]:
    """The ids of lines, and for each its phrase with wrong hits and the characters that the search has found."""
    lines = list(read_contrast())
    texts = {f"{line.id}/{number}": text for line in lines for number, (text, _) in enumerate(line.pairs)} | real
    chosen = lines[::every]
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    schema.upgrade(settings.catalog_url)
    with open_services(settings) as services:
        services.get(CollectionService).create(_COLLECTION)
        services.get(DocumentService).upsert(_COLLECTION, [Document(id, (Part(text),)) for id, text in texts.items()])
        for start in range(0, len(chosen), _AT_ONCE):
            batch = chosen[start : start + _AT_ONCE]
            requests = [
                SearchRequest(_COLLECTION, text=line.phrase, top_k=_HITS, group_by="document") for line in batch
            ]
            for line, answer in zip(batch, services.get(SearchService).search(*requests), strict=True):
                found = [(hit.document_id, hit.raw, (hit.start, hit.end)) for hit in answer.hits]
                yield line.id, [(Pair(line.phrase, texts[id]), mark) for id, mark in _wrong(line, found)]


def _wrong(
    line: ContrastLine, found: list[tuple[str, float, tuple[int, int]]]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """The hits of other lines that are not too similar."""
    own = {id: raw for id, raw, _ in found if id.rsplit("/", 1)[0] == line.id}
    most = min(_TOO_SIMILAR, own.get(f"{line.id}/1", 1.0) - _BELOW_OWN)
    for id, raw, mark in found:
        if id not in own and raw < most:
            yield id, mark

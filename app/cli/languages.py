"""The languages of a source, by a sample of its documents."""

from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import TYPE_CHECKING, Final

from models.types import Document

if TYPE_CHECKING:
    from indexer.sources import Record

_SAMPLED: Final = 200
_CHARACTERS: Final = 400
# Fewer letters say too little of a language.
_LEAST_LETTERS: Final = 20


class Languages:
    """Keeps the beginnings of documents that are drawn evenly (reservoir sampling), and tells their languages."""

    def __init__(self) -> None:
        self._random = Random(0)  # noqa: S311 - which documents are looked at is no secret
        self._seen = 0
        self._texts: list[str] = []

    def sampling(self, records: "Iterable[Record]") -> "Iterator[Record]":
        """The same records, some of which are kept in mind."""
        for record in records:
            if isinstance(record, Document):
                self._see(record.text[:_CHARACTERS])
            yield record

    def _see(self, text: str) -> None:
        if sum(map(str.isalpha, text)) < _LEAST_LETTERS:
            return
        self._seen += 1
        if len(self._texts) < _SAMPLED:
            self._texts.append(text)
        elif (place := self._random.randrange(self._seen)) < _SAMPLED:
            self._texts[place] = text

    def shares(self) -> dict[str, float]:
        """The shares of languages by their ISO 639-1 codes, the most frequent first.

        >>> languages = Languages()
        >>> languages._see("I would like to cancel my order, please.")
        >>> languages.shares()
        {'en': 1.0}
        """
        if not self._texts:
            return {}
        # Imported late: the model takes a third of a second.
        from py3langid import classify

        counts = Counter(str(classify(text)[0]) for text in self._texts)
        return {code: round(count / len(self._texts), 3) for code, count in counts.most_common()}

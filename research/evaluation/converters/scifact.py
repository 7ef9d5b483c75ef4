"""SciFact: scientific claims, and the sentences of abstracts by which experts judged them.

Documents are the abstracts that a claim of the training or the validation file cites, a part each. Queries are the
validation file's claims that an abstract supports, and gold are the sentences that the experts named for that.
"""

import ast
import csv
import io
import re
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path

from models.types import CharSpan, Document, Part
from research.evaluation.converters.conversion import Conversion
from research.evaluation.converters.files import read_text
from research.evaluation.corpus import DocumentSpan
from research.evaluation.queries import Query

CORPUS, TRAINING, CLAIMS = "corpus_train.csv", "claims_train.csv", "claims_validation.csv"
SUPPORT = "SUPPORT"

Row = Mapping[str, str]


def read(folder: Path, task: str) -> Conversion:
    """The claims of the published validation file that an abstract supports."""
    return convert(*(_rows(read_text(folder, name)) for name in (CORPUS, TRAINING, CLAIMS)))


def convert(corpus: Sequence[Row], training: Sequence[Row], claims: Sequence[Row]) -> Conversion:
    """A document for every cited abstract, and a query for every claim of ``claims`` that one supports."""
    cited = {id for row in (*training, *claims) for id in _numbers(row["cited_doc_ids"])}
    sentences = {row["doc_id"]: _strings(row["abstract"]) for row in corpus if row["doc_id"] in cited}
    documents = tuple(Document(id, (Part(" ".join(texts)),)) for id, texts in sentences.items())
    gold: dict[str, dict[DocumentSpan, None]] = {}
    for row in claims:
        if row["evidence_label"] == SUPPORT:
            id = row["evidence_doc_id"]
            found = (DocumentSpan(id, _place(sentences[id], int(each))) for each in _numbers(row["evidence_sentences"]))
            gold.setdefault(row["claim"], {}).update(dict.fromkeys(found))
    queries = tuple(Query(str(number), claim, tuple(spans)) for number, (claim, spans) in enumerate(gold.items()))
    return Conversion(documents, queries)


def _rows(text: str) -> list[Row]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _numbers(value: str) -> list[str]:
    """The numbers of a list.

    >>> _numbers("[2 5]")
    ['2', '5']
    """
    return re.findall(r"\d+", value)


def _strings(value: str) -> list[str]:
    r"""The strings of a list as numpy prints it, without commas.

    >>> _strings('[\'It rains.\'\n "It\'s wet."]')
    ['It rains.', "It's wet."]
    """
    tokens = tokenize.generate_tokens(io.StringIO(value).readline)
    return [ast.literal_eval(token.string).strip() for token in tokens if token.type == tokenize.STRING]


def _place(sentences: Sequence[str], number: int) -> CharSpan:
    """Span of a sentence in the abstract.

    >>> _place(["It rains.", "So stay."], 1)
    CharSpan(start=10, end=18)
    """
    start = sum(len(text) + 1 for text in sentences[:number])
    return CharSpan(start, start + len(sentences[number]))

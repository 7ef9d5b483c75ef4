"""QED: questions to Wikipedia, each with a paragraph, the sentence that answers it, and the answer in it.

Documents are paragraphs of a single part. A user would cut no finer, since an encoder needs the sentences around one to
know what its pronouns mean, and since the search is to find where a sentence begins and ends. All paragraphs are kept,
also those in which no single sentence gives the answer; a question is asked of all of them.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from models.types import CharSpan, Document, Part
from research.evaluation.converters.conversion import Conversion
from research.evaluation.converters.files import read_text
from research.evaluation.corpus import DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.sentences import trimmed

FILE = "qed-dev.jsonlines"


def read(folder: Path, task: str) -> Conversion:
    """The development set. The task ``sentence`` has the answering sentence for gold, ``answer`` the answer itself."""
    return convert((json.loads(line) for line in read_text(folder, FILE).split("\n") if line), task)


def convert(examples: Iterable[Mapping[str, Any]], task: str) -> Conversion:
    """A document for every paragraph, and a query for every question that a single sentence answers."""
    documents: dict[str, Document] = {}
    queries = []
    for example in examples:
        id, text = str(example["example_id"]), example["paragraph_text"]
        document = documents.setdefault(text, Document(id, (Part(text),), {"title": example["title_text"]}))
        gold = tuple(DocumentSpan(document.id, trimmed(text, span)) for span in _gold(example["annotation"], task))
        if gold:
            queries.append(Query(id, example["question_text"], gold))
    return Conversion(tuple(documents.values()), tuple(queries))


def _gold(annotation: Mapping[str, Any], task: str) -> list[CharSpan]:
    if annotation["explanation_type"] != "single_sentence":
        return []
    sentence, answers = annotation["selected_sentence"], annotation["answer"]
    places = [sentence] if task == "sentence" else [answer["paragraph_reference"] for answer in answers]
    return [CharSpan(place["start"], place["end"]) for place in places]

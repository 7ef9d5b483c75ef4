"""XQuAD: questions to paragraphs of Wikipedia, each with the place of its answer. The English part is SQuAD's.

Documents are paragraphs of a single part, for the reasons of :mod:`research.evaluation.converters.qed`. The set says
nothing of sentences: they are those of :mod:`research.evaluation.sentences`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.types import CharSpan, Document, Part
from research.evaluation.converters.conversion import Conversion
from research.evaluation.converters.files import read_text
from research.evaluation.corpus import DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.sentences import sentence_spans

FILE = "xquad.en.json"


def read(folder: Path, task: str) -> Conversion:
    """The English set. The task ``sentence`` has the sentence around the answer for gold, ``answer`` the answer."""
    return convert(json.loads(read_text(folder, FILE)), task)


def convert(squad: Mapping[str, Any], task: str) -> Conversion:
    """A document for every paragraph of a file in SQuAD's form, and a query for every question."""
    documents, queries = [], []
    for article in squad["data"]:
        for number, paragraph in enumerate(article["paragraphs"]):
            id, text = f"{article['title']}/{number}", paragraph["context"]
            documents.append(Document(id, (Part(text),), {"title": article["title"]}))
            sentences = sentence_spans(text)
            for question in paragraph["qas"]:
                answers = (_span(answer) for answer in question["answers"])
                golds = answers if task == "answer" else (_around(answer, sentences) for answer in answers)
                gold = tuple(DocumentSpan(id, span) for span in dict.fromkeys(golds))
                queries.append(Query(question["id"], question["question"], gold))
    return Conversion(tuple(documents), tuple(queries))


def _span(answer: Mapping[str, Any]) -> CharSpan:
    return CharSpan(answer["answer_start"], answer["answer_start"] + len(answer["text"]))


def _around(answer: CharSpan, sentences: list[CharSpan]) -> CharSpan:
    """From the start of the first to the end of the last sentence that holds some of the answer; as a rule one."""
    touched = [sentence for sentence in sentences if sentence.start < answer.end and answer.start < sentence.end]
    return CharSpan(touched[0].start, touched[-1].end)

"""Converters on miniatures, written for the test, in the form of each data set."""

import csv
import gzip
import io
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import SourceUnreadable
from models.errors import InvalidInput
from research.evaluation.converters import climate_fever, cuad, pic, qed, scifact, xquad
from research.evaluation.converters.conversion import Conversion
from research.evaluation.converters.folding import FoldedText
from research.evaluation.converters.registry import CONVERTERS, convert
from research.evaluation.corpus import Corpus, read_corpus
from research.evaluation.queries import read_queries


def golds(conversion: Conversion) -> dict[str, list[str]]:
    """The text of every gold span, by query."""
    corpus = Corpus(conversion.documents)
    return {query.id: [corpus.text(gold) for gold in query.gold] for query in conversion.queries}


# --- white space ---------------------------------------------------------------------------------------------------

SPACED = st.lists(st.sampled_from(["a", "b", "ab", " ", "\n", "\t ", "\u00a0", "é"]), max_size=20).map("".join)


@given(SPACED, SPACED)
def test_a_folded_text_finds_what_is_there_and_nothing_else(text: str, wanted: str) -> None:
    found = FoldedText(text).find(wanted)
    folded = " ".join(wanted.split())
    if found is None:
        assert not folded or folded not in " ".join(text.split())
    else:
        assert " ".join(found.of(text).split()) == folded
        assert found.of(text) == found.of(text).strip()


@given(SPACED, st.data())
def test_every_slice_of_a_text_is_found(text: str, data: st.DataObject) -> None:
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    if text[start:end].strip():
        found = FoldedText(text).find(text[start:end])
        assert found is not None
        assert found.start <= start + len(text[start:end]) - len(text[start:end].lstrip())


# --- CUAD ----------------------------------------------------------------------------------------------------------

CATEGORIES = ["Parties", "Price Restrictions", "Anti-Assignment"]
README = """
CATEGORY LIST
	1
	Category:	Parties
	Description:	The two or more
 parties
	Answer Format: 	Names
	Group: 		-
	2
	Category:	Price Restriction
	Description:	May prices be raised?
	Answer Format: 	Yes/No
	3
	Category:	Anti-Assignment
	Description:	Is consent required?
	Answer Format: 	Yes/No
"""
LEASE = "LEASE\n\n  Ann and Bob agree.\n\n1.  No party may assign\n  this lease. Ann and Bob may not raise prices.\n"
SALE = "SALE & MORE\nCid sells.  This sale shall not be\nassigned by Cid."


def table(*rows: list[Any]) -> str:
    file = io.StringIO()
    header = [name for category in CATEGORIES for name in (category, f"{category}-Answer")]
    csv.writer(file).writerows([["Filename", *header], *rows])
    return file.getvalue()


QUOTED = "['No party may assign this lease.', 'No party <omitted> lease.']"
TABLE = table(
    ["A LEASE.pdf", "['Ann', 'Bob']", "Ann; Bob", "['Ann and Bob may not raise prices.']", "Yes", QUOTED, "Yes"],
    ["Caf\u00e9 SALE & Co.PDF", "['Cid']", "Cid", "", "", "['This sale shall not be assigned by Cid.']", "Yes"],
)
FILES = {"A LEASE.txt": LEASE.encode(), "Cafe\u0301 SALE _ Co.txt": SALE.encode() + b" \xff"}


@pytest.fixture
def cuad_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "cuad"
    folder.mkdir()
    (folder / cuad.README).write_text(README, "utf-8")
    (folder / f"{cuad.TABLE}.gz").write_bytes(gzip.compress(TABLE.encode()))
    with tarfile.open(folder / f"{cuad.CONTRACTS}.tar.gz", "w:gz") as archive:
        for name, content in FILES.items():
            member = tarfile.TarInfo(f"{cuad.CONTRACTS}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return folder


def test_cuad_asks_every_contract_for_the_clauses_it_has(cuad_folder: Path) -> None:
    conversion = convert("cuad", cuad_folder)
    lease, sale = "A LEASE", "Cafe\u0301 SALE _ Co"
    assert golds(conversion) == {
        f"{lease}: Parties": ["Ann", "Bob"],
        f"{lease}: Price Restrictions": ["Ann and Bob may not raise prices."],
        f"{lease}: Anti-Assignment": ["No party may assign\n  this lease."],
        f"{sale}: Parties": ["Cid"],
        f"{sale}: Anti-Assignment": ["This sale shall not be\nassigned by Cid."],
    }
    assert conversion.not_found == 1
    assert [query.text for query in conversion.queries[:3]] == [
        "The two or more parties",
        "May prices be raised?",
        "Is consent required?",
    ]
    assert all(query.within == (query.gold[0].document_id,) for query in conversion.queries)


def test_cuad_texts_are_the_published_ones_in_lines(cuad_folder: Path) -> None:
    lease, sale = convert("cuad", cuad_folder).documents
    assert (lease.text, sale.text) == (LEASE, f"{SALE} \ufffd")
    assert [part.text for part in lease.parts] == [
        "LEASE\n",
        "  Ann and Bob agree.\n",
        "1.  No party may assign",
        "  this lease. Ann and Bob may not raise prices.\n",
    ]


def test_cuad_reads_an_unpacked_folder_alike(cuad_folder: Path, tmp_path: Path) -> None:
    packed = convert("cuad", cuad_folder)
    archive = cuad_folder / f"{cuad.CONTRACTS}.tar.gz"
    shutil.unpack_archive(archive, cuad_folder)
    archive.unlink()
    assert convert("cuad", cuad_folder) == packed


def test_cuad_asks_clauses_of_contracts_that_are_not_searched() -> None:
    names = [f"c{number}" for number in range(10)]
    contracts = [
        cuad.contract(name, f"{name} is not assignable. A. {'very ' * 70} long.", clauses)
        for name in names
        for clauses in [{"Anti-Assignment": [f"{name} is not assignable."], "Parties": ["A."], "Long": ["very " * 70]}]
    ]
    conversion = cuad.ask_clauses(contracts, ["Anti-Assignment", "Long", "No-Show"])
    searched = {document.id for document in conversion.documents}
    assert len(searched) == 8
    assert len(conversion.queries) == 2
    for query in conversion.queries:
        asking = query.id.removesuffix(": Anti-Assignment")
        assert asking in set(names) - searched
        assert query.text == f"{asking} is not assignable."
    assert all(
        texts == [f"{name} is not assignable." for name in names if name in searched]
        for texts in golds(conversion).values()
    )
    assert cuad.ask_clauses(contracts, ["No-Show", "Long", "Anti-Assignment"]) == conversion, "drawn with a fixed seed"


def test_cuad_knows_which_categories_are_sentences() -> None:
    assert cuad.read_quotations(TABLE).sentences == {"Price Restrictions", "Anti-Assignment"}


# --- XQuAD, QED, PiC -----------------------------------------------------------------------------------------------

PARAGRAPH = "Rome is old. It has seven hills. Dr. Rossi lives on one. "


def question(id: str, text: str, *answers: str) -> dict[str, Any]:
    places = [{"answer_start": PARAGRAPH.index(answer), "text": answer} for answer in answers]
    return {"id": id, "question": text, "answers": places}


SQUAD = {
    "data": [
        {"title": "Oslo", "paragraphs": [{"context": "Cold.", "qas": []}]},
        {
            "title": "Rome",
            "paragraphs": [
                {
                    "context": PARAGRAPH,
                    "qas": [
                        question("1", "How many hills?", "seven", "seven hills"),
                        question("2", "Who lives there?", "Dr. Rossi"),
                        question("3", "Where?", "hills. Dr. Rossi"),
                    ],
                }
            ],
        },
    ]
}


def test_xquad_finds_sentences_and_answers() -> None:
    conversion = xquad.convert(SQUAD, "sentence")
    assert golds(conversion) == {
        "1": ["It has seven hills."],
        "2": ["Dr. Rossi lives on one."],
        "3": ["It has seven hills. Dr. Rossi lives on one."],
    }
    assert [(document.id, document.text) for document in conversion.documents] == [
        ("Oslo/0", "Cold."),
        ("Rome/0", PARAGRAPH),
    ]
    assert golds(xquad.convert(SQUAD, "answer")) == {
        "1": ["seven", "seven hills"],
        "2": ["Dr. Rossi"],
        "3": ["hills. Dr. Rossi"],
    }


def example(id: int, kind: str, text: str = PARAGRAPH) -> dict[str, Any]:
    start = text.index("It has")
    annotation: dict[str, Any] = {"explanation_type": kind}
    if kind == "single_sentence":
        annotation["selected_sentence"] = {"start": start, "end": start + len("It has seven hills. ")}
        annotation["answer"] = [{"paragraph_reference": {"start": start + 7, "end": start + 18}}]
    return {
        "example_id": id,
        "title_text": "Rome",
        "question_text": f"question {id}",
        "paragraph_text": text,
        "annotation": annotation,
    }


def test_qed_finds_sentences_and_answers() -> None:
    other = f"{PARAGRAPH}More."
    examples = [example(7, "single_sentence"), example(-8, "single_sentence"), example(9, "none", other)]
    conversion = qed.convert(examples, "sentence")
    assert [(document.id, document.text) for document in conversion.documents] == [("7", PARAGRAPH), ("9", other)]
    assert golds(conversion) == {"7": ["It has seven hills."], "-8": ["It has seven hills."]}
    assert golds(qed.convert(examples, "answer")) == {"7": ["seven hills"], "-8": ["seven hills"]}


def test_pic_keeps_to_the_text_of_the_query() -> None:
    examples = [{"document": PARAGRAPH, "query": "ancient", "answer": "old", "start": 8, "spans": 1}] * 2
    conversion = pic.convert(examples)
    assert golds(conversion) == {"1": ["old"], "2": ["old"]}
    assert [query.within for query in conversion.queries] == [("1",), ("2",)]


def judged(article: str, sentence: str, label: str) -> dict[str, str]:
    return {"article": article, "evidence": sentence, "evidence_label": label}


def test_climate_fever_keeps_what_supports_a_claim_among_all_that_was_judged() -> None:
    claims = [
        {
            "claim_id": "7",
            "claim": "Seas rise.",
            "evidences": [
                judged("Sea", "It rises.", "SUPPORTS"),
                judged("Ice", "It melts.", "SUPPORTS"),
                judged("Sea", "It is salty.", "NOT_ENOUGH_INFO"),
            ],
        },
        {"claim_id": "8", "claim": "Seas fall.", "evidences": [judged("Sea", "It rises.", "REFUTES")]},
    ]
    conversion = climate_fever.convert(claims)
    assert [(each.id, each.text) for each in conversion.documents] == [
        ("Sea", "It rises.\nIt is salty."),
        ("Ice", "It melts."),
    ]
    assert golds(conversion) == {"7": ["It rises.", "It melts."]}


def test_scifact_finds_the_sentences_of_cited_abstracts() -> None:
    corpus = [
        {"doc_id": "5", "abstract": "['We saw \"it\".'\n \"It's new.\" 'So on.']"},
        {"doc_id": "6", "abstract": "['Never cited.']"},
        {"doc_id": "9", "abstract": "['Other.\\n']"},
    ]
    cited = {"cited_doc_ids": "[5 9]"}
    claims = [
        {"claim": "It is new.", "evidence_doc_id": "5", "evidence_label": "SUPPORT", "evidence_sentences": "[1 2]"},
        {"claim": "It is old.", "evidence_doc_id": "5", "evidence_label": "CONTRADICT", "evidence_sentences": "[1]"},
        {"claim": "It is.", "evidence_doc_id": "", "evidence_label": "", "evidence_sentences": "[]"},
    ]
    conversion = scifact.convert(corpus, [cited], [row | cited for row in claims])
    assert [(each.id, each.text) for each in conversion.documents] == [
        ("5", 'We saw "it". It\'s new. So on.'),
        ("9", "Other."),
    ]
    assert golds(conversion) == {"0": ["It's new.", "So on."]}


# --- what all share ------------------------------------------------------------------------------------------------


def test_what_is_written_can_be_read(cuad_folder: Path, tmp_path: Path) -> None:
    conversion = convert("cuad", cuad_folder)
    conversion.write(tmp_path / "new" / "folder")
    corpus = read_corpus(tmp_path / "new" / "folder" / "documents.ndjson")
    assert tuple(corpus.documents.values()) == conversion.documents
    assert tuple(read_queries(tmp_path / "new" / "folder" / "queries.ndjson", corpus)) == conversion.queries


def test_a_limit_keeps_the_first_documents_and_what_is_asked_of_them() -> None:
    conversion = xquad.convert(SQUAD, "sentence")
    assert conversion.limited(5) == conversion
    assert [document.id for document in conversion.limited(1).documents] == ["Oslo/0"]
    assert conversion.limited(1).queries == ()
    assert [document.id for document in conversion.limited(None, 1).documents] == ["Rome/0"]
    assert len(pic.convert([{"document": "a", "query": "b", "answer": "a", "start": 0}] * 3).limited(2).queries) == 2


def test_other_sets_tasks_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no data set 'squad'") as refused:
        convert("squad", tmp_path)
    assert all(name in refused.value.hint for name in CONVERTERS)
    with pytest.raises(InvalidInput, match="qed has no task 'clause'"):
        convert("qed", tmp_path, "clause")
    for name in CONVERTERS:
        with pytest.raises(SourceUnreadable, match="holds no"):
            convert(name, tmp_path)


def test_a_file_in_another_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "xquad.en.json").write_text('{"data": [{"title": "Rome"}]}')
    with pytest.raises(SourceUnreadable, match=r"does not hold xquad as published: KeyError\('paragraphs'\)"):
        convert("xquad", tmp_path)
    (tmp_path / "qed-dev.jsonlines").write_text("{broken")
    with pytest.raises(SourceUnreadable, match="does not hold qed"):
        convert("qed", tmp_path)

"""Files of any format, sent as they are: read as `spanseek index` reads them, by a task that says what was lost."""

import gzip
import io
from typing import Any

import pytest
from openpyxl import Workbook

from app.tasks.answers import TaskDescription
from tests.integration.http.conftest import Client, read_answer
from tests.pdf_files import lines, pdf
from tests.waiting import until
from tests.word_files import paragraph, run, word_file

FILES = "/collections/sample/files"
MAIL = b"From: ann@example.org\nSubject: My parcel\nContent-Type: text/plain\n\nThe parcel never came.\n"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.freshness.FRESH_S", -1.0)


@pytest.fixture
def client(settings, start) -> Client:
    return start(settings.model_copy(update={"grace_s": 0.0}))


def send(client: Client, name: str, body: bytes, **options: Any) -> Any:
    return client.run(client.http.post(FILES, content=body, params={"name": name, **options}, headers=client.headers))


def ended(client: Client, name: str, body: bytes, **options: Any) -> TaskDescription:
    response = send(client, name, body, **options)
    assert response.status_code == 202, response.text
    return read_answer(TaskDescription, client.get(f"/tasks/{response.json()['id']}?wait=60"))


def text_of(client: Client, id: str) -> str:
    return client.get(f"/collections/sample/documents/{id}").json()["text"]


def workbook() -> bytes:
    book, file = Workbook(), io.BytesIO()
    book.active.append(["ticket", "text"])
    book.active.append(["t-1", "The zeppelin is late."])
    book.save(file)
    return file.getvalue()


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("offers/zeppelin.pdf", pdf(lines("A zeppelin is offered.")), "A zeppelin is offered."),
        ("letter.DOCX", word_file(paragraph(run("Dear captain."))), "Dear captain."),
        ("mail.eml", MAIL, "The parcel never came."),
        ("note.txt", "Grüße".encode("cp1252"), "Grüße"),
        ("note.md.gz", gzip.compress(b"# Late\n\nThe zeppelin is late.", mtime=0), "# Late\n\nThe zeppelin is late."),
        ("page.html", b"<p>The zeppelin <b>landed</b>.</p>", "The zeppelin landed."),
    ],
)
def test_a_file_is_one_document_named_after_it(client: Client, name: str, body: bytes, text: str) -> None:
    task = ended(client, name, body)
    assert (task.status, task.kind, task.counts) == ("done", "upload", {"indexed": 1, "unchanged": 0, "failed": 0})
    assert task.progress.done == task.progress.total == len(body)
    assert text in text_of(client, name.removesuffix(".gz"))
    until(lambda: not list((client.settings.data_dir / "tasks").glob("*/body.*")))


def test_tables_and_lines_are_documents_a_record(client: Client) -> None:
    assert ended(client, "tickets.xlsx", workbook(), id_column="ticket").counts["indexed"] == 1
    assert text_of(client, "t-1") == "The zeppelin is late."
    task = ended(client, "notes.csv", b"words\nA kettle.\n\n", text_column="words", row_ids="notes.csv")
    assert (text_of(client, "notes.csv:1"), task.result["lines"]) == ("A kettle.", 1)
    task = ended(client, "calls.jsonl", b'{"id": "l-1", "text": "A kite."}\n{"id": 7}\n')
    assert task.counts == {"indexed": 1, "unchanged": 0, "failed": 1}


def test_what_is_lost_or_doubtful_is_in_the_result(client: Client) -> None:
    attached = (
        b"From: a@example.org\nSubject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
        b"--b\nContent-Type: text/plain\n\nSee the attachment.\n"
        b"--b\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename=plan.dwg\n\n1\n--b--\n"
    )
    result = ended(client, "mail.eml", attached).result
    assert result["lost"] == ["attachment plan.dwg, which has no reader"]
    assert (result["unreadable"], result["replaced"]) == (False, 0)
    assert "cp1252" in ended(client, "note.txt", "Grüße aus Köln".encode("cp1252")).result["notice"]


def test_a_broken_file_fails_with_its_reason_and_an_unread_one_is_refused(client: Client, problem) -> None:
    task = ended(client, "broken.pdf", b"no PDF at all")
    assert (task.counts["failed"], task.errors[0].code) == (1, "invalid_document")
    assert "not a PDF that can be read" in task.errors[0].detail
    for name in ("broken.msg", "broken.docx", "broken.mbox", "broken.parquet"):
        task = ended(client, name, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and no more")
        assert task.status == "failed" or task.counts["failed"] == 1, name
    problem(send(client, "old.doc", b"x"), 415, "unsupported_media_type")
    assert "soffice" in send(client, "old.doc", b"x").json()["hint"]
    problem(send(client, "plain", b"x"), 415, "unsupported_media_type")
    problem(send(client, "note.txt", b""), 422, "invalid_input")
    problem(send(client, "note.txt.gz", b"no gzip"), 422, "invalid_input")
    for name in ("", "a\x00.txt", "x" * 600 + ".txt"):
        problem(send(client, name, b"x"), 422, "invalid_input")


def test_a_name_leads_out_of_no_folder(client: Client) -> None:
    task = ended(client, "../../escaped.txt", b"Out of here.")
    assert task.counts["indexed"] + task.counts["failed"] == 1
    assert list(client.settings.data_dir.parent.rglob("*escaped*")) == []

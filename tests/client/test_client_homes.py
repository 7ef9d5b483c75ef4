"""A server and a folder answer alike."""

import asyncio
import gc
import gzip
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import spanseek
from spanseek.errors_by_code import AliasNotFound, CollectionNotFound, InvalidInput
from spanseek.models import TaskDescription
from spanseek.requests import FoundThreshold
from tests.client.homes import CALLS, Homes, lasting, outcome

pytestmark = pytest.mark.ci("starts servers")


def test_a_search_finds_the_turn_with_its_metadata(homes: Homes) -> None:
    hits = homes.agree(lambda db: db.collection("calls").search("took my payment twice", k=2))
    assert (hits[0].document_id, hits[0].text, hits[0].match) == ("a", "took my payment twice", "exact")
    assert (hits[0].metadata, hits[0].part_metadata) == ({"queue": "billing"}, {"turn": 2, "speaker": "customer"})


def test_filters_are_expressions_or_objects(homes: Homes) -> None:
    for filter in ('queue = "parcels"', {"document": {"queue": "parcels"}}):
        hits = homes.agree(lambda db, filter=filter: db.collection("calls").search("twice", filter=filter, k=50))
        assert {hit.document_id for hit in hits} == {"b"}
        documents = homes.agree(lambda db, filter=filter: db.collection("calls").documents(filter))
        assert [document.id for document in homes.connected.collection("calls").documents(filter)] == ["b"]
        assert list(documents) == []  # the iterator was read to its end


def test_several_searches_are_one_request(homes: Homes) -> None:
    first, second = homes.agree(lambda db: db.collection("calls").search_each(["my parcel", "my payment"], k=1))
    assert (first[0].document_id, second[0].document_id) == ("b", "a")
    assert outcome(lambda: homes.connected.collection("calls").search_each([" "])).startswith("InvalidInput")


def test_all_hits_are_those_of_a_search(homes: Homes) -> None:
    hits = homes.agree(lambda db: list(db.collection("calls").search_all("took my payment")))
    assert [hit.text for hit in hits] == [
        hit.text for hit in homes.connected.collection("calls").search("took my payment", k=1000, verify=0)
    ]


def test_phrases_are_counted_by_metadata(homes: Homes) -> None:
    asked = {"threshold": 1, "count_by": ["queue"]}
    mined = homes.agree(lambda db: db.collection("calls").mine(["took my payment"], **asked).counts)
    assert [(row.key, row.value, row.hits, row.documents, row.complete) for row in mined] == [
        (None, None, 1, 1, True),
        ("queue", "billing", 1, 1, True),
    ]


def test_documents_are_read_as_they_were_added(homes: Homes) -> None:
    document = homes.agree(lambda db: db.collection("calls").read("a"))
    assert document.text == "hello how can I help\nsomebody took my payment twice"
    exported = homes.agree(lambda db: list(db.collection("calls").export()))
    copies = homes.agree(lambda db: db.collection("copies").add(exported))
    assert (copies.indexed, copies.failed) == (2, 0)
    assert homes.agree(lambda db: list(db.collection("copies").export())) == exported


def test_what_is_added_again_is_unchanged_and_what_is_wrong_says_so(homes: Homes) -> None:
    again = homes.agree(lambda db: db.collection("calls").add(CALLS, text="line", id="call", part="turn"))
    assert (again.indexed, again.unchanged) == (0, 2)
    added = homes.agree(lambda db: db.collection("refused").add([{"id": "x", "text": "fine"}, {"id": "y", "text": 7}]))
    assert (added.indexed, added.failed, added.errors[0].id) == (1, 1, "y")


def test_a_file_of_any_format_is_read_by_the_server_which_says_what_it_left_out(homes: Homes, tmp_path: Path) -> None:
    mail = tmp_path / "mail.eml"
    mail.write_bytes(
        b"From: a@example.org\nSubject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
        b"--b\nContent-Type: text/plain\n\nSee the attachment.\n"
        b"--b\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename=a.dwg\n\n1\n--b--\n"
    )
    added = homes.agree(lambda db: db.collection("mails").add_file(mail, name="inbox/1.eml"))
    assert (added.indexed, added.failed, added.lost) == (1, 0, ("attachment a.dwg, which has no reader",))
    assert "See the attachment." in homes.agree(lambda db: db.collection("mails").read("inbox/1.eml").text)
    tmp_path.joinpath("old.doc").write_bytes(b"x")
    assert "UnsupportedMediaType" in outcome(lambda: homes.connected.collection("mails").add_file(tmp_path / "old.doc"))


def test_large_uploads_are_streamed_and_followed(homes: Homes) -> None:
    texts = [f"text number {number} is about nothing else " * 20 for number in range(400)]
    states: list[str] = []

    def watch(task: TaskDescription) -> None:
        states.append(task.status)

    added = homes.agree(lambda db: db.collection("many").add(iter(texts), progress=watch))
    assert (added.indexed, added.failed, states[-1]) == (400, 0, "done")
    assert homes.agree(lambda db: db.collection("many").describe().documents) == 400


def test_columns_of_a_file_of_lines_are_named(homes: Homes, tmp_path: Path) -> None:
    lines = tmp_path / "calls.ndjson"
    lines.write_text('{"call": 7, "body": "my parcel", "queue": "parcels"}\n')
    added = homes.agree(lambda db: db.collection("lines").add(lines, text="body", id="call"))
    assert (added.indexed, added.failed) == (1, 0)
    document = homes.agree(lambda db: db.collection("lines").read("7"))
    assert (document.text, document.metadata) == ("my parcel", {"queue": "parcels"})
    packed = tmp_path / "calls.jsonl.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    again = homes.agree(lambda db: db.collection("lines").add(packed, text="body", id="call"))
    assert (again.unchanged, again.failed) == (1, 0)


def test_one_text_is_one_search_and_a_file_is_named_by_text(homes: Homes, tmp_path: Path) -> None:
    calls = homes.connected.collection("calls")
    assert [hits[0].document_id for hits in calls.search_each("my parcel", k=1)] == ["b"]
    assert [row.hits for row in calls.mine("took my payment", threshold=1).counts] == [1]
    (tmp_path / "note.txt").write_text("cancel my plan")
    assert homes.connected.collection("notes").add_file(str(tmp_path / "note.txt")).indexed == 1
    with pytest.raises(spanseek.SpanseekError, match="as a Path"):
        homes.connected.collection("letters").add("calls.csv")
    with pytest.raises(CollectionNotFound):
        homes.connected.collection("letters").describe()


def test_files_are_sent_as_they_are(homes: Homes, tmp_path: Path) -> None:
    table = tmp_path / "calls.csv"
    table.write_text("number,line\n1,my parcel\n2,my payment\n")
    added = homes.agree(lambda db: db.collection("tables").add(table, text="line", id="number"))
    assert added.indexed == 2
    with pytest.raises(spanseek.SpanseekError, match="add_file"):
        homes.connected.collection("tables").add(tmp_path / "calls.pdf")


def test_spans_of_texts_are_lists_for_each_text(homes: Homes) -> None:
    lists = homes.agree(lambda db: db.spans("cancel my plan", ["I want to cancel my plan today.", "Nothing."]))
    assert [each.id for each in lists] == ["0", "1"]
    assert lists[0][0].text == "cancel my plan"


def test_a_threshold_follows_from_labels(homes: Homes) -> None:
    texts = [f"{word} took my payment {number}" for number in range(15) for word in ("you", "they")]
    others = [f"the parcel number {number} never came" for number in range(15)]
    labels = [*((text, True) for text in texts), *((text, False) for text in others)]

    def ask(db: spanseek.Client) -> FoundThreshold:
        return db.collection("calls").threshold("took my payment", precision=0.9, labels=labels)

    first, second = ask(homes.connected), ask(homes.embedded)
    assert (first.raw, first.precision) == (second.raw, second.precision)
    assert first.precision.value >= 0.9
    hits = homes.agree(lambda db: db.collection("calls").search("took my payment", threshold=first, k=1000))
    assert (hits.answer.threshold.on, hits.answer.threshold.value) == ("raw", first.raw)
    everything = homes.connected.collection("calls").search("took my payment", threshold=0, k=1000)
    assert len(hits) == sum(hit.raw >= first.raw for hit in everything)


def test_errors_are_those_of_the_api(homes: Homes) -> None:
    for db in homes:  # the error lists the collections of each
        said = outcome(lambda db=db: db.collection("none").search("x"))
        assert said.startswith("CollectionNotFound: There is no collection 'none'")
    with pytest.raises(InvalidInput) as caught:
        homes.connected.collection("calls").search("x", k=0)
    assert (caught.value.status, caught.value.fields[0][0]) == (422, "top_k")
    assert caught.value.request_id
    with pytest.raises(AliasNotFound):
        homes.embedded.api.delete_alias("none")


def test_ids_may_hold_anything(homes: Homes) -> None:
    ids = ["a/b?c#d%", "..", "ü\n"]
    homes.agree(lambda db: db.collection("ids").add([{"id": id, "text": "some words"} for id in ids]))
    for id in ids:
        assert homes.agree(lambda db, id=id: db.collection("ids").read(id)).id == id
    gone = homes.agree(lambda db: db.collection("ids").delete(ids[::2]))
    assert len(gone.results) == 2
    homes.agree(lambda db: db.api.delete_document("ids", ids[1]))
    assert homes.agree(lambda db: list(db.collection("ids").documents())) == []


def test_an_empty_name_names_nothing(homes: Homes) -> None:
    nobody = homes.connected.collection("")
    for ask in (nobody.describe, nobody.drop):
        assert outcome(ask) == "RouteNotFound: There is nothing at /collections/. See /docs."


def test_collections_and_phrases_come_and_go(homes: Homes) -> None:
    def ask(db: spanseek.Client) -> list[str]:
        collection = db.collection("fleeting")
        collection.create(words=False)
        db.api.create_phrase("fleeting", text="cancel my plan", name="cancel")
        names = [phrase.name for phrase in collection.phrases()]
        collection.drop()
        return names

    assert homes.agree(ask) == ["cancel"]
    with pytest.raises(CollectionNotFound):
        homes.connected.collection("fleeting").describe()
    assert "calls" in [each.name for each in homes.embedded.collections()]


def test_the_asynchronous_client_answers_alike(homes: Homes) -> None:
    async def ask() -> object:
        async with spanseek.connect_async(homes.connected.url) as db:
            calls = db.collection("calls")
            hits = await calls.search("took my payment twice", k=3)
            documents = [document.id async for document in calls.documents()]
            return hits, documents, await db.spans("my plan", ["cancel my plan"])

    hits, documents, spans = asyncio.run(ask())
    calls = homes.connected.collection("calls")
    assert lasting(hits) == lasting(calls.search("took my payment twice", k=3))
    assert documents == ["a", "b"]
    assert lasting(spans) == lasting(homes.connected.spans("my plan", ["cancel my plan"]))


def test_a_folder_serves_its_page(homes: Homes) -> None:
    assert homes.connected.serve() == homes.connected.url
    url = homes.embedded.serve(port=0)
    assert "<title>" in httpx.get(f"{url}/").text
    assert homes.embedded.serve() == url


def test_a_page_without_a_free_port_leaves_the_folder_open(tmp_path: Path) -> None:
    with spanseek.open(tmp_path / "data", encoder="hashing") as db, socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(spanseek.ServerNotStarted) as caught:
            db.serve(port=taken.getsockname()[1])
        assert caught.value.code == "address_unavailable"
        with pytest.raises(spanseek.ServerNotStarted, match="port 99999"):
            db.serve(port=99999)
        assert db.collections() == []


OWN_PACKAGES = """
import os, signal, sys
import app.settings, models
assert app.settings.MINE
import spanseek
db = spanseek.open(sys.argv[1], encoder="hashing")
db.collection("c").add(["some words of its own"])
print(db.collection("c").search("words of its own", k=1)[0].text)
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_opens_beside_packages_of_the_same_names_and_closes_with_the_program(tmp_path: Path) -> None:
    for name in ("app", "models"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "app" / "settings.py").write_text("MINE = True\n")
    script = tmp_path / "script.py"
    script.write_text(OWN_PACKAGES)
    # The pipe of standard error is closed once the server has ended, too.
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "data")],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (done.stdout, done.returncode) == ("words of its own\n", -9), done.stderr


def test_a_folder_that_cannot_be_opened_says_why(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(spanseek.ServerNotStarted) as caught:
        spanseek.open(tmp_path / "new", encoder="none")
    assert caught.value.code == "unknown_encoder"
    with pytest.raises(spanseek.ServerNotStarted, match="file cannot be used: File exists"):
        spanseek.open(tmp_path / "file", encoder="hashing")
    assert capfd.readouterr().err == "", "nothing of the process itself"


def test_a_setting_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(spanseek.ServerNotStarted, match=r"no setting 'encodre'. Did you mean encoder\?"):
        spanseek.open(tmp_path / "new", encodre="hashing")
    assert not (tmp_path / "new").exists()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # httpcore does not close a socket that is refused
def test_a_folder_whose_process_was_killed_says_so(tmp_path: Path) -> None:
    with spanseek.open(tmp_path / "data", encoder="hashing") as db:
        assert db._server is not None
        os.kill(db._server._processes[0].pid, signal.SIGKILL)
        with pytest.raises(
            spanseek.ProcessEnded, match="data: its process ended with status -9; open the folder again"
        ):
            db.collections()
    gc.collect()


FORKED = """
import os, sys
import spanseek
with spanseek.open(sys.argv[1], encoder="hashing") as db:
    db.collections()
    ended = os.fork()
    if not ended:
        db.collections()
        db.close()
        sys.exit()
    assert os.waitpid(ended, 0)[1] == 0
    db.collections()
    read, write = os.pipe()
    living = os.fork()
    if not living:
        os.read(read, 1)
        try:
            db.collections()
        except spanseek.ConnectionFailed as error:
            os._exit(type(error) is not spanseek.ConnectionFailed)
    server = db._server._processes[0]
os.write(write, b"x")
print(server.returncode, os.path.exists(db._server.socket), os.waitpid(living, 0)[1])
"""


def test_a_forked_process_asks_the_folder_and_leaves_its_end_to_the_parent(tmp_path: Path) -> None:
    whole = [sys.executable, "-c", FORKED, str(tmp_path / "data")]
    done = subprocess.run(whole, capture_output=True, text=True, timeout=200)
    assert done.stdout == "0 False 0\n", done.stderr

"""The walk of a person who loads data, and the API's reference, in a real browser."""

import gzip
import io

import pytest
from openpyxl import Workbook
from playwright.sync_api import expect

from indexer.sources.formats import READERS
from tests.e2e.page.checks import no_sideways_scrolling, serious
from tests.pdf_files import lines as page_of
from tests.pdf_files import pdf
from tests.word_files import paragraph, run, word_file

pytestmark = pytest.mark.ci("a browser")


def into_new(page, name):
    page.get_by_label("Into").select_option(label="A new collection")
    page.get_by_label("Name of the new collection").fill(name)


def file(name, body):
    return {
        "name": name,
        "mimeType": "application/octet-stream",
        "buffer": body if isinstance(body, bytes) else body.encode(),
    }


def test_files_are_uploaded_with_errors_by_line(page):
    page.goto("/?view=data&c=sample")
    name = f"mine-{page.viewport_size['width']}"
    into_new(page, name)
    table = 'id,text,kind\na,"Hello, ""you""\nthere",mail\nb,,mail\nc,too,many,cells\n'
    calls = '{"id": "x", "text": "cancel it"}\n{broken\n{"id": "y", "text": 7}\n'
    packed = gzip.compress(b'{"id": "z", "text": "packed"}\n')
    files = [file("notes.csv", table), file("calls.ndjson", calls), file("more.ndjson.gz", packed)]
    page.get_by_label("Files").set_input_files([*files, file("letter.txt", "Dear all"), file("letter.doc", b"old")])
    page.get_by_text("calls.ndjson: 1 indexed, 0 unchanged, 2 failed").first.wait_for()
    page.get_by_text("more.ndjson.gz: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    page.get_by_text("letter.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    page.get_by_role("alert").get_by_text("letter.doc was not sent.").wait_for()
    form = page.get_by_role("form", name="notes.csv")
    form.get_by_text("Its columns are id, text, kind.").wait_for()
    assert serious(page) == []
    form.get_by_role("button", name="Add this table").click()
    page.get_by_text("notes.csv: 2 indexed, 0 unchanged, 1 failed").first.wait_for()
    for of, lines in (("notes.csv", ["3"]), ("calls.ndjson", ["2", "3"])):
        cells = page.get_by_role("region", name=f"Errors of {of}").locator("tbody tr td:first-child")
        expect(cells).to_have_text(lines, use_inner_text=True)
    page.get_by_role("link", name=name).wait_for()
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=name))
    row.get_by_role("cell", name="5", exact=True).wait_for()  # documents
    assert serious(page) == []
    assert no_sideways_scrolling(page)


def test_a_spreadsheets_table_has_columns_to_choose(page):
    page.goto("/?view=data&c=sample")
    name = f"sheet-{page.viewport_size['width']}"
    into_new(page, name)
    rows = "Stadt;Bemerkung\nK\u00f6ln;Sch\u00f6ne Gr\u00fc\u00dfe \u2013 bis bald\nZ\u00fcrich;Das Paket kam nie an\n"
    page.get_by_label("Files").set_input_files([file("sheet.csv", rows.encode("cp1252"))])
    form = page.get_by_role("form", name="sheet.csv")
    expect(form.get_by_label("Texts are in")).to_have_value("Bemerkung")  # the longest cells
    expect(form.get_by_label("Ids are in").locator("option:checked")).to_have_text(
        "None: number the rows", use_inner_text=True
    )
    form.get_by_role("button", name="Add this table").click()
    page.get_by_text("sheet.csv: 2 indexed, 0 unchanged, 0 failed").first.wait_for()
    document = page.request.get(f"/collections/{name}/documents/sheet.csv:1").json()
    assert (document["text"], document["metadata"]) == (
        "Sch\u00f6ne Gr\u00fc\u00dfe \u2013 bis bald",
        {"Stadt": "K\u00f6ln"},
    )


def test_rows_become_the_turns_of_a_call(desktop):
    desktop.goto("/?view=data&c=sample")
    into_new(desktop, "turns")
    rows = "call,turn,line\nb,2,Sure.\nb,1,Cancel it.\na,1,Hello.\n"
    desktop.get_by_label("Files").set_input_files([file("turns.csv", rows)])
    form = desktop.get_by_role("form", name="turns.csv")
    form.get_by_label("Texts are in").select_option("line")
    form.get_by_label("Ids are in").select_option("call")
    form.get_by_label("A row is").select_option("turn")
    form.get_by_role("button", name="Add this table").click()
    desktop.get_by_text("turns.csv: 2 indexed, 0 unchanged, 0 failed").first.wait_for()
    assert desktop.request.get("/collections/turns/documents/b").json()["text"] == "Cancel it.\nSure."


def test_progress_is_that_of_the_task(desktop):
    """Answers of a task are made up, one for each step."""
    desktop.goto("/?view=data&c=sample")
    into_new(desktop, "stepwise")
    task = {
        "id": "t",
        "kind": "upload",
        "status": "queued",
        "errors": [],
        "counts": {},
        "created_at": "2026-01-01T00:00:00Z",
    }
    at = [{"status": "running", "counts": {"indexed": 3}, "progress": {"done": 30, "total": 40}},
          {"status": "done", "counts": {"indexed": 4}, "progress": {"done": 40, "total": 40}}]  # fmt: skip
    waiting = []
    desktop.route("**/tasks?*", lambda route: route.fulfill(json={"tasks": []}))
    desktop.route(
        "**/documents/import?*",
        lambda route: route.fulfill(status=202, json=task | {"progress": {"done": 0, "total": 40}}),
    )
    desktop.route("**/tasks/t?*", lambda route: waiting.append(route))
    desktop.get_by_label("Files").set_input_files([file("four.ndjson", "{}\n" * 4)])
    desktop.get_by_text("four.ndjson: waiting for its turn").wait_for()
    awaited(desktop, waiting).fulfill(json=task | at[0])
    desktop.get_by_text("four.ndjson: indexing, 3 indexed, 0 unchanged, 0 failed").wait_for()
    assert desktop.get_by_role("progressbar", name="Progress of four.ndjson").evaluate("bar => bar.value") == 0.75
    awaited(desktop, waiting).fulfill(json=task | at[1])
    desktop.get_by_text("four.ndjson: 4 indexed, 0 unchanged, 0 failed").first.wait_for()
    assert desktop.get_by_role("progressbar", name="Progress of four.ndjson").count() == 0


def awaited(page, routes):
    """The route of a request that is under way, or about to be."""
    while not routes:
        page.evaluate("0")  # lets events come
    return routes.pop()


def test_a_refused_file_is_said_to_be_and_the_others_are_added(desktop):
    desktop.goto("/?view=data&c=sample")
    into_new(desktop, "partly")
    refusal = {"detail": "The backlog of tasks is full.", "hint": "Try again later."}
    desktop.route("**/documents/import?*", lambda route: route.fulfill(status=429, json=refusal))
    desktop.get_by_label("Files").set_input_files([file("a.ndjson", "{}"), file("b.txt", "A note.")])
    desktop.get_by_role("alert").get_by_text("The backlog of tasks is full.").wait_for()
    desktop.get_by_text("b.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()


def test_the_first_rows_of_a_table_are_read(desktop):
    desktop.goto("/docs")
    texts = ['id;"a ""b"";c";d\n1;2;3', "\ufeffid,text\r\n", "one", "a\tb,c\td", '"x\ny",z']
    cells = desktop.evaluate(
        """async (texts) => {
          const path = document.querySelector('script[type=module]').src.replace('main.js', 'files.js');
          const { rowsOf } = await import(path);
          return texts.map((text) => rowsOf(text, 2));
        }""",
        texts,
    )
    assert cells == [
        [["id", 'a "b";c', "d"], ["1", "2", "3"]],
        [["id", "text"], [""]],
        [["one"]],
        [["a", "b,c", "d"]],
        [["x\ny", "z"]],
    ]


def test_a_file_becomes_a_task_with_errors_by_line(page):
    page.goto("/?view=data&c=sample")
    into_new(page, f"tasks-{page.viewport_size['width']}")
    calls = [f'{{"id": "l{number}", "text": "cancel it"}}' for number in range(20)]
    page.get_by_label("Files").set_input_files([file("many.ndjson", "\n".join([*calls, "{broken"]))])
    page.get_by_text("upload: done").wait_for()
    page.get_by_text("Errors by line").click()
    assert page.get_by_role("region", name="Errors of upload").locator("tbody td").first.inner_text() == "21"
    assert serious(page) == []
    assert no_sideways_scrolling(page)


def test_the_reference_lists_the_routes(page):
    page.goto("/docs")
    page.get_by_text("POST /search", exact=True).wait_for()
    page.locator("main .prose code").first.wait_for()
    expect(page.locator("main")).not_to_contain_text("[object", use_inner_text=True)
    assert serious(page) == []
    assert no_sideways_scrolling(page)


def test_dropped_files_are_indexed(page):
    page.goto("/?view=data&c=sample")
    drop(page, f"dropped-{page.viewport_size['width']}")
    page.get_by_text("letter.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()


def test_files_of_many_formats_are_dropped_at_once(desktop):
    """Two are documents named after their files, one is a table of Excel, and one is broken."""
    desktop.goto("/?view=data&c=sample")
    into_new(desktop, "formats")
    book, table = Workbook(), io.BytesIO()
    book.active.append(["id", "text"])
    book.active.append(["t-1", "The zeppelin is late."])
    book.save(table)
    message = "From: a@example.org\nSubject: Parcel\n\nThe parcel never came.\n"
    files = [
        file("offer.pdf", pdf(page_of("A zeppelin is offered."))),
        file("letter.docx", word_file(paragraph(run("Dear captain.")))),
        file("mail.eml", message),
        file("tickets.xlsx", table.getvalue()),
        file("broken.pdf", b"no PDF"),
    ]
    desktop.get_by_label("Files").set_input_files(files)
    for name in ("offer.pdf", "letter.docx", "mail.eml", "tickets.xlsx"):
        desktop.get_by_text(f"{name}: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    errors = desktop.get_by_role("region", name="Errors of broken.pdf")
    errors.get_by_text("not a PDF that can be read").wait_for()
    for id, text in (("offer.pdf", "zeppelin"), ("letter.docx", "captain"), ("mail.eml", "parcel"), ("t-1", "late")):
        assert text in desktop.request.get(f"/collections/formats/documents/{id}").json()["text"]
    assert serious(desktop) == []


def test_the_page_offers_what_the_server_reads(desktop):
    desktop.goto("/?view=data&c=sample")
    offered = desktop.get_by_label("Files").get_attribute("accept").split(",")
    assert set(offered) == {*READERS, ".gz"}


def test_an_upload_that_is_answered_by_a_task_is_followed_to_its_end(page):
    page.goto("/?view=data&c=sample")
    task = {"id": "slow", "kind": "upload", "status": "running", "errors": [], "counts": {}, "progress": {}}
    error = {"line": 1, "id": "letter.txt", "code": "x", "detail": "It is too long."}
    end = {"status": "done", "counts": {"failed": 1}, "errors": [error], "result": {"lost": ["2 pages"], "notice": ""}}
    page.route("**/files?*", lambda route: route.fulfill(status=202, json=task))
    page.route("**/tasks/slow?*", lambda route: route.fulfill(json=task | end))
    drop(page, f"slow-{page.viewport_size['width']}")
    page.get_by_text("letter.txt: 0 indexed, 0 unchanged, 1 failed").first.wait_for()
    page.get_by_role("region", name="Errors of letter.txt").get_by_text("It is too long.").wait_for()
    page.get_by_text("Left out of letter.txt: 2 pages.").wait_for()


def test_a_lost_answer_does_not_end_the_progress_of_an_upload(desktop):
    desktop.goto("/?view=data&c=sample")
    into_new(desktop, "lost-answer")
    desktop.route("**/tasks/*?wait=*", lambda route: route.abort(), times=1)
    desktop.route("**/tasks?*", lambda route: route.abort(), times=1)
    desktop.get_by_label("Files").set_input_files([file("note.txt", "A note.")])
    desktop.get_by_text("note.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    tasks = desktop.get_by_role("region", name="Tasks")
    tasks.get_by_text("done").first.wait_for()


def test_files_that_cannot_be_read_leave_no_collection_behind(desktop):
    desktop.goto("/?view=data&c=sample")
    unreadable = [file("photo.png", "x"), file("nothing.txt", ""), file("rows.csv", "")]
    desktop.get_by_label("Files").set_input_files(unreadable)
    alerts = desktop.get_by_role("alert")
    for name in ("photo.png", "nothing.txt", "rows.csv"):
        alerts.get_by_text(f"{name} was not sent.").wait_for()
    expect(alerts.get_by_text("It is empty, or a folder.")).to_have_count(2)
    names = {one["name"] for one in desktop.request.get("/collections").json()["collections"]}
    assert names.isdisjoint({"photo", "nothing", "rows"})


def test_a_snapshot_is_made_downloaded_restored_and_deleted(page):
    name = f"kept-{page.viewport_size['width']}"
    page.goto("/?view=data&c=sample")
    drop(page, name)
    page.get_by_text("letter.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    page.goto(f"/?view=data&c={name}")
    panel = page.get_by_label("Snapshots")
    panel.get_by_text("None yet.").wait_for()
    panel.get_by_role("button", name="Make a snapshot").click()
    panel.get_by_text("1 document ").wait_for()
    with page.expect_download() as started:
        panel.get_by_role("button", name="Download").click()
    assert started.value.suggested_filename.startswith(name)
    panel.get_by_text("Restore as a new collection").click()
    panel.get_by_label("Its name").fill(f"twin-{name}")
    panel.get_by_role("button", name="Restore", exact=True).click()
    page.get_by_role("link", name=f"twin-{name}").wait_for()
    assert serious(page) == []
    assert no_sideways_scrolling(page)
    panel.get_by_role("button", name="Delete").click()
    panel.get_by_role("button", name="Delete for good").click()
    panel.get_by_text("None yet.").wait_for()


def test_files_that_are_dropped_beside_the_place_are_taken_too(desktop):
    desktop.goto("/?view=data&c=sample")
    drop(desktop, "beside", onto="main h1")
    desktop.get_by_text("letter.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()


def drop(page, collection, onto=".drop"):
    page.get_by_label("Into").select_option(label="A new collection")
    page.get_by_label("Name of the new collection").fill(collection)
    page.locator(onto).evaluate(
        """place => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(["A letter."], "letter.txt"));
          place.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }"""
    )


def test_the_panels_follow_the_collection_that_is_added_to(desktop):
    desktop.goto("/?view=data&c=sample")
    desktop.get_by_role("heading", name="Snapshots of sample").wait_for()
    drop(desktop, "followed")
    for panel in ("Tasks of followed", "Snapshots of followed", "Matches of saved phrases in followed"):
        desktop.get_by_role("heading", name=panel).wait_for()
    desktop.get_by_text("letter.txt: 1 indexed").first.wait_for()
    assert "c=followed" in desktop.url
    desktop.get_by_label("Into").select_option("sample")
    desktop.get_by_role("heading", name="Tasks of sample").wait_for()
    assert "c=sample" in desktop.url


def test_matches_of_saved_phrases_appear_as_they_arrive(desktop, address):
    name = "arriving"
    desktop.request.put(f"{address}/collections/{name}", data={})
    phrase = {"name": "lost", "text": "the parcel never came"}
    assert desktop.request.post(f"{address}/collections/{name}/phrases", data=phrase).ok
    threshold = f"{address}/collections/{name}/phrases/lost/threshold"
    assert desktop.request.put(threshold, data={"value": 0.9}).ok
    desktop.goto(f"/?view=data&c={name}")
    matches = desktop.get_by_role("region", name="Matches of saved phrases")
    matches.get_by_text("None yet.").wait_for()
    for document in ("first", "second"):
        body = {"id": document, "text": "Sorry, the parcel never came."}
        assert desktop.request.post(f"{address}/collections/{name}/documents", data=body).ok
        matches.get_by_role("cell", name=document, exact=True).first.wait_for()
    assert matches.locator("tbody tr td:nth-child(3)").all_inner_texts()[0] == "second"
    assert serious(desktop) == []

"""The walk of a person who loads data, and the API's reference, in a real browser."""

import json

from tests.e2e.page.checks import no_sideways_scrolling, serious


def test_files_are_uploaded_with_errors_by_line(page):
    page.goto("/?view=data&c=sample")
    width = page.viewport_size["width"]
    page.get_by_label("Into").select_option(label="A new collection")
    page.get_by_label("Name of the new collection").fill(f"mine-{width}")
    table = 'id,text,kind\na,"Hello, ""you""\nthere",mail\nb,,mail\nc,too,many,cells\n'
    files = [
        ("notes.csv", table),
        ("calls.ndjson", '{"id": "x", "text": "cancel it"}\n{broken\n{"id": "y", "text": 7}\n'),
        ("letter.txt", "Dear all"),
    ]
    page.get_by_label("Files").set_input_files(
        [{"name": name, "mimeType": "text/plain", "buffer": body.encode()} for name, body in files]
    )
    page.get_by_text("notes.csv: 2 indexed, 0 unchanged, 1 failed").first.wait_for()
    page.get_by_text("calls.ndjson: 1 indexed, 0 unchanged, 2 failed").first.wait_for()
    page.get_by_text("letter.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    for name, lines in (("notes.csv", ["5"]), ("calls.ndjson", ["2", "3"])):
        cells = page.get_by_role("region", name=f"Errors of {name}").locator("tbody tr td:first-child")
        assert cells.all_inner_texts() == lines
    page.get_by_role("link", name=f"mine-{width}").wait_for()
    assert serious(page) == []
    assert no_sideways_scrolling(page)


def test_a_large_file_becomes_a_task_with_errors_by_line(page):
    page.goto("/?view=data&c=sample")
    width = page.viewport_size["width"]
    page.get_by_label("Into").select_option(label="A new collection")
    page.get_by_label("Name of the new collection").fill(f"large-{width}")
    lines = [f'{{"id": "l{number}", "text": "cancel it {"x" * 40_000}"}}' for number in range(110)]
    body = "\n".join([*lines, "{broken"]).encode()
    page.get_by_label("Files").set_input_files(
        [{"name": "large.ndjson", "mimeType": "application/x-ndjson", "buffer": body}]
    )
    page.get_by_text("upload: done").wait_for(timeout=90_000)
    page.get_by_text("Errors by line").click()
    assert page.get_by_role("region", name="Errors of upload").locator("tbody td").first.inner_text() == "111"
    assert serious(page) == []
    assert no_sideways_scrolling(page)


def test_the_reference_lists_the_routes(page):
    page.goto("/docs")
    page.get_by_text("POST /search", exact=True).wait_for()
    assert serious(page) == []
    assert no_sideways_scrolling(page)


def test_dropped_files_are_indexed(page):
    page.goto("/?view=data&c=sample")
    drop(page, f"dropped-{page.viewport_size['width']}")
    page.get_by_text("letter.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()


def test_an_upload_that_is_answered_by_a_task_is_followed_to_its_end(page):
    page.goto("/?view=data&c=sample")
    task = {"id": "slow", "kind": "upload", "status": "running", "errors": [], "counts": {}}
    result = {"line": 1, "id": "letter.txt", "status": "failed", "error": {"code": "x", "detail": "It is too long."}}
    page.route("**/documents", lambda route: route.fulfill(status=202, json=task))
    page.route("**/tasks/slow?*", lambda route: route.fulfill(json=task | {"status": "done"}))
    page.route("**/tasks/slow/results", lambda route: route.fulfill(body=json.dumps(result) + "\n"))
    drop(page, f"slow-{page.viewport_size['width']}")
    page.get_by_text("letter.txt: 0 indexed, 0 unchanged, 1 failed").first.wait_for()
    page.get_by_role("region", name="Errors of letter.txt").get_by_text("It is too long.").wait_for()


def test_a_snapshot_is_made_downloaded_restored_and_deleted(page):
    name = f"kept-{page.viewport_size['width']}"
    page.goto("/?view=data&c=sample")
    drop(page, name)
    page.get_by_text("letter.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    page.goto(f"/?view=data&c={name}")
    panel = page.get_by_label("Snapshots")
    panel.get_by_text("None yet.").wait_for()
    panel.get_by_role("button", name="Make a snapshot").click()
    panel.get_by_text("1 documents").wait_for()
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


def drop(page, collection):
    page.get_by_label("Into").select_option(label="A new collection")
    page.get_by_label("Name of the new collection").fill(collection)
    page.locator(".drop").evaluate(
        """place => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(["A letter."], "letter.txt"));
          place.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }"""
    )


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

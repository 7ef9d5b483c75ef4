"""Uploads that are guessed, undone and named, and the views of texts, in a real browser."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.ci("a browser")
ROWS = """call,turn,said_at,line
a,1,2026-01-01T10:00:00+00:00,Hello there.
a,2,2026-01-01T10:00:09+00:00,Cancel it.
b,1,2026-01-02T10:00:00+00:00,My lamp broke.
"""


def chosen(page, name: str, body: str) -> None:
    page.get_by_label("Files").set_input_files([{"name": name, "mimeType": "text/csv", "buffer": body.encode()}])


def test_columns_are_guessed_and_the_collection_is_named_after_the_file(desktop):
    """A call's turns become one document; dates are no texts. The upload is taken back."""
    desktop.goto("/?view=data&c=sample")
    chosen(desktop, "Contact Centre (M\u00e4rz).csv", ROWS)
    form = desktop.get_by_role("form")
    expect(form.get_by_label("Texts are in")).to_have_value("line")
    expect(form.get_by_label("Ids are in")).to_have_value("call")
    expect(form.get_by_label("A row is")).to_have_value("turn")
    shown = form.locator("tbody tr td:nth-child(2)").all_inner_texts()
    assert shown == ["Hello there.\nCancel it.", "My lamp broke."] or shown == [
        "Hello there. Cancel it.",
        "My lamp broke.",
    ]
    form.get_by_role("button", name="Add this table").click()
    desktop.get_by_text("2 indexed, 0 unchanged, 0 failed").first.wait_for()
    assert "c=contact-centre-marz" in desktop.url
    desktop.get_by_role("button", name="Undo: remove what was added").click()
    desktop.get_by_role("button", name="Remove 2 documents").click()
    desktop.get_by_text("2 documents were removed.").first.wait_for()
    assert desktop.request.get("/collections/contact-centre-marz").json()["documents"] == 0
    row = desktop.get_by_role("row").filter(has=desktop.get_by_role("link", name="contact-centre-marz"))
    row.get_by_role("button", name="Delete").click()
    row.get_by_role("button", name="Delete for good").click()
    desktop.get_by_role("link", name="contact-centre-marz").wait_for(state="detached")
    assert desktop.request.get("/collections/contact-centre-marz").status == 404


def test_two_texts_are_compared(desktop):
    answer = {
        "similarities": [
            {"mode": "best_span", "raw": 0.8, "score": 0.71},
            {"mode": "facets", "error": {"code": "x", "detail": "It has no words."}},
        ],
        "facets": {"distance": 3, "first": [{"words": ["cancel", "revoke"]}], "second": [{"words": ["stop"]}]},
        "direction": {"more_general": "second", "difference": -0.4},
    }
    desktop.route("**/compare", lambda route: route.fulfill(json=answer))
    desktop.goto("/?view=texts")
    desktop.get_by_label("First text").fill("cancel my plan")
    desktop.get_by_label("Second text").fill("stop it")
    desktop.get_by_role("main").get_by_role("button", name="Compare").click()
    desktop.get_by_text("The second text is the more general one.").wait_for()
    expect(desktop.locator("tbody td:last-child")).to_have_text(["0.71", "It has no words."], use_inner_text=True)
    expect(desktop.locator("main li")).to_have_text(["cancel, revoke", "stop"], use_inner_text=True)


def test_what_comes_back_of_vectors_is_shown_with_its_uncertain_pieces(desktop):
    made = {"vectors": [[[0.3, -1.2]]], "fingerprint": "f", "dim": 2, "compared": 1}
    pieces = [{"text": "Stop", "confidence": 0.99}, {"text": " it.", "confidence": 0.5}, {"text": "", "confidence": 1}]
    back = {"texts": [{"text": "Stop it.", "confidence": 0.5, "tokens": pieces}], "fingerprint": "f"}
    desktop.route("**/vectors", lambda route: route.fulfill(json=made))
    desktop.route("**/restore", lambda route: route.fulfill(json=back))
    desktop.goto("/?view=restore")
    desktop.get_by_label("Your text").fill("Stop it.")
    desktop.get_by_role("button", name="Make vectors and restore").click()
    desktop.get_by_text("Word for word what you wrote.").wait_for()
    assert desktop.locator("u").all_inner_texts() == [" it."]


def test_a_request_of_the_reference_is_sent(desktop):
    desktop.goto("/docs")
    route = desktop.locator("details.panel").filter(has=desktop.get_by_text("GET /collections", exact=True))
    route.get_by_text("GET /collections", exact=True).click()
    route.get_by_text("Try it").click()
    expect(route.locator("code.curl")).to_contain_text("curl -X GET", use_inner_text=True)
    route.get_by_role("button", name="Send").click()
    route.locator("pre").filter(has_text='"name": "sample"').wait_for()


def test_a_step_that_would_lead_elsewhere_is_not_sent(desktop):
    sent = []
    desktop.on("request", lambda request: sent.append(request.method))
    desktop.goto("/docs")
    name = "DELETE /collections/{collection}/documents/{document_id}"
    route = desktop.locator("details.panel").filter(has=desktop.get_by_text(name, exact=True))
    route.get_by_text(name, exact=True).click()
    route.get_by_text("Try it").click()
    route.get_by_label("collection", exact=True).fill("sample")
    route.get_by_label("document_id", exact=True).fill("..")
    route.get_by_role("button", name="Send").click()
    route.get_by_text("A browser cannot ask for “..”").wait_for()
    assert "DELETE" not in sent
    route.get_by_label("document_id", exact=True).fill("..x")
    route.get_by_role("button", name="Send").click()
    route.get_by_text("Answer", exact=True).wait_for()
    assert "DELETE" in sent


def test_the_sample_is_loaded_into_an_empty_place(desktop, address):
    there = desktop.request.get(f"{address}/collections").json()
    asked = []

    def listed(route):
        asked.append(route)
        route.fulfill(json=there if len(asked) > 1 else {"collections": []})

    desktop.route("**/collections", listed)
    desktop.route("**/collections/sample/documents", lambda route: route.fulfill(json={"results": []}))
    desktop.goto("/")
    desktop.get_by_role("heading", name="Nothing to search yet").wait_for()
    desktop.get_by_label("Files").wait_for()
    desktop.get_by_role("button", name="Load the sample").click()
    desktop.get_by_label("Phrase", exact=True).wait_for()
    assert "c=sample" in desktop.url


def test_a_collection_gets_another_name(desktop, address):
    desktop.goto("/?view=data&c=sample")
    row = desktop.get_by_role("row").filter(has=desktop.get_by_role("link", name="sample", exact=True))
    row.get_by_text("Give it another name").click()
    row.get_by_label("Other name").fill("Kept Calls")
    row.get_by_role("button", name="Save").click()
    row.get_by_text("sample can now be found as kept-calls, too.").wait_for()
    desktop.goto("/?c=kept-calls&q=refund")
    desktop.locator(".card").first.wait_for()
    assert desktop.request.delete(f"{address}/aliases/kept-calls").ok


def test_a_name_without_letters_is_refused_where_it_is_written(desktop):
    desktop.goto("/?view=data&c=sample")
    row = desktop.get_by_role("row").filter(has=desktop.get_by_role("link", name="sample", exact=True))
    row.get_by_text("Give it another name").click()
    row.get_by_label("Other name").fill("\u65e5\u672c\u8a9e")
    row.get_by_role("button", name="Save").click()
    row.get_by_role("alert").get_by_text("a letter from a to z").wait_for()
    expect(row.get_by_label("Other name")).to_have_value("\u65e5\u672c\u8a9e")


def test_a_double_click_deletes_nothing(desktop, address):
    assert desktop.request.put(f"{address}/collections/kept-twice", data={}).ok
    desktop.goto("/?view=data&c=sample")
    row = desktop.get_by_role("row").filter(has=desktop.get_by_role("link", name="kept-twice"))
    row.get_by_role("button", name="Delete").dblclick()
    row.get_by_role("button", name="Delete for good").wait_for()
    assert desktop.request.get(f"{address}/collections/kept-twice").ok
    desktop.keyboard.press("Enter")
    row.wait_for(state="detached")
    assert desktop.request.get(f"{address}/collections/kept-twice").status == 404


def test_what_is_wrong_with_a_field_stands_at_it_until_it_is_changed(desktop):
    refusal = {"detail": "The collection is there with another recipe.", "hint": "Choose another name."}
    desktop.route("**/collections/taken", lambda route: route.fulfill(status=409, json=refusal))
    desktop.goto("/?view=data&c=sample")
    desktop.get_by_label("Into").select_option(label="A new collection")
    field = desktop.get_by_label("Name of the new collection")
    field.fill("taken")
    desktop.get_by_label("Files").set_input_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"A letter."}])
    said = desktop.get_by_role("alert").filter(has_text="another recipe")
    said.wait_for()
    assert field.get_attribute("aria-describedby") == said.get_attribute("id")
    assert (
        said.evaluate("one => one.getBoundingClientRect().y") - field.evaluate("one => one.getBoundingClientRect().y")
        < 70
    )
    assert desktop.evaluate("document.activeElement.id") == "new-name"
    field.press("x")
    said.wait_for(state="detached")
    assert field.get_attribute("aria-invalid") is None

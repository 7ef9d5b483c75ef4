"""The walk of a person who tunes thresholds, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from app.calibration.label_files import read_labels
from tests.e2e.page.checks import no_sideways_scrolling, serious

pytestmark = pytest.mark.ci("a browser")


def test_labels_move_precision_and_the_threshold_is_saved_and_undone(page, request):
    phrase = f"late parcel {page.viewport_size['width']}"
    page.goto("/?view=thresholds&c=sample")
    page.get_by_label("New phrase").fill(phrase)
    page.get_by_role("button", name="Save phrase").click()
    page.get_by_role("heading", name=phrase).wait_for()
    page.get_by_role("button", name="Propose examples").click()
    page.get_by_text("0 of 60 labelled").wait_for()
    page.keyboard.press("y")
    page.get_by_text("1 of 60 labelled").wait_for()
    page.get_by_text("precision").last.wait_for()
    page.keyboard.press("n")
    page.get_by_text("2 of 60 labelled").wait_for()
    page.keyboard.press("u")
    page.get_by_text("1 of 60 labelled").wait_for()
    page.get_by_label("Threshold").evaluate("e => { e.value = '0.7'; e.dispatchEvent(new Event('input')); }")
    page.get_by_role("button", name="Save for this phrase").click()
    page.get_by_role("cell", name="0.7 on score").first.wait_for()
    undo = page.get_by_role("button", name="Undo the phrase's last change")
    undo.click()
    page.get_by_role("cell", name="undo", exact=True).wait_for()
    undo.wait_for(state="hidden")
    assert serious(page) == []
    assert no_sideways_scrolling(page)


def label(page, count):
    """Answer by the score of each example and the threshold."""
    threshold = float(page.get_by_label("Threshold").input_value())
    for number in range(count):
        page.get_by_text(f"{number} of 60 labelled").wait_for()
        score = float(page.get_by_role("region", name="Labels").locator(".score").inner_text())
        page.keyboard.press("y" if score >= threshold else "n")
    page.get_by_text(f"{count} of 60 labelled").wait_for()


def test_a_calibration_is_fitted_activated_and_deactivated(page):
    phrase = "the parcel never came"
    name = f"fitted {page.viewport_size['width']}"
    page.request.post("/collections/sample/phrases", data={"name": name, "text": phrase})
    page.goto(f"/?view=thresholds&c=sample&p={name}")
    page.get_by_role("heading", name=phrase).wait_for()
    page.get_by_role("button", name="Propose examples").click()
    label(page, 19)
    page.get_by_text("1 more labels, and a calibration can be fitted.").wait_for()
    label_20 = page.get_by_role("button", name="Fit a calibration")
    expect(label_20).to_have_count(0)
    page.keyboard.press("y")
    label_20.click()
    suggested = page.get_by_role("region", name="Suggested thresholds")
    suggested.get_by_role("cell", name="precision 0.9").wait_for()
    panel = page.get_by_role("region", name="Calibrations")
    row = panel.get_by_role("article").filter(has_text=f"\u201c{phrase}\u201d, from the page \u00b7 20 labels").first
    row.get_by_text("not active").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the labels").click()
    path = Path(download.value.path()).rename(Path(download.value.path()).with_suffix(".ndjson"))
    assert len(read_labels(path)) == 20
    assert serious(page) == []
    assert no_sideways_scrolling(page)
    row.get_by_role("button", name="Activate").click()
    row.get_by_role("button", name="Deactivate").click()
    row.get_by_text("not active").wait_for()


def test_the_suggested_threshold_is_taken_saved_and_undone_for_the_collection(desktop):
    page = desktop
    page.goto("/?view=thresholds&c=sample")
    page.get_by_label("New phrase").fill("where is my invoice")
    page.get_by_role("button", name="Save phrase").click()
    page.get_by_role("heading", name="where is my invoice").wait_for()
    page.get_by_role("button", name="Propose examples").click()
    label(page, 60)
    use = page.get_by_role("button", name="the lowest with 90 % precision")
    value = use.inner_text().split()[1].rstrip(":")
    use.click()
    page.get_by_text(f"At {value}: precision").wait_for()
    assert float(page.get_by_label("Threshold").input_value()) == float(value)
    page.get_by_role("button", name="Save for the collection").click()
    history = page.get_by_role("region", name="Latest changes")
    history.get_by_role("row").filter(has_text="the collection").get_by_role(
        "cell", name=f"{float(value)} on score"
    ).wait_for()
    assert page.get_by_role("button", name="Undo the phrase's last change").is_hidden()
    page.get_by_role("button", name="Undo the collection's last change").click()
    history.get_by_role("cell", name="undo", exact=True).first.wait_for()


def test_labels_survive_leaving_without_texts_and_can_be_forgotten(desktop):
    desktop.request.post("/collections/sample/phrases", data={"name": "kept", "text": "the app crashed again"})
    path = "/?view=thresholds&c=sample&p=kept"
    desktop.goto(path)
    desktop.get_by_role("button", name="Propose examples").click()
    desktop.get_by_text("0 of 60 labelled").wait_for()
    for number, key in enumerate("ynn", 1):
        desktop.keyboard.press(key)
        desktop.get_by_text(f"{number} of 60 labelled").wait_for()
    example = desktop.locator("blockquote").inner_text()
    place = "labels sample the app crashed again"
    stored = desktop.evaluate("(place) => JSON.parse(localStorage.getItem(place)).labels", place)
    assert [label["match"] for label in stored] == [True, False, False]
    assert not {"says", "context"} & set(stored[0])
    desktop.goto("/?view=data&c=sample")
    desktop.goto(path)
    desktop.get_by_text("3 of 60 labelled").wait_for()
    expect(desktop.locator("blockquote")).to_have_text(example, use_inner_text=True)
    desktop.get_by_text("17 more labels").wait_for()
    desktop.keyboard.press("u")
    desktop.get_by_text("2 of 60 labelled").wait_for()
    desktop.get_by_role("button", name="Forget the labels").click()
    desktop.get_by_role("button", name="Forget 2 labels").click()
    desktop.get_by_text("0 of 60 labelled").wait_for()
    assert desktop.evaluate("(place) => localStorage.getItem(place)", place) is None


def test_two_tabs_keep_each_others_labels(desktop):
    desktop.goto("/docs")
    kept = desktop.evaluate(
        """async () => {
          const path = document.querySelector('script[type=module]').src.replace('main.js', 'labels.js');
          const { LabelStore } = await import(path);
          const [one, other] = [new LabelStore("c", "p"), new LabelStore("c", "p")];
          const add = (store, start) => { store.labels.push({ span: { start }, match: true }); store.keep(); };
          const seen = () => new LabelStore("c", "p").labels.map(({ span }) => span.start);
          add(one, 1);
          add(other, 2);
          add(one, 3);
          const all = seen();
          other.labels.pop();
          other.keep();
          one.keep();
          return [all, seen(), one.labels.length];
        }"""
    )
    assert kept == [[2, 1, 3], [1, 3], 2]


def test_the_span_is_marked_where_it_stands(desktop):
    """The span's words come earlier in the context, too; the offset counts code points."""
    context = "\U0001f600 late, very late parcel"
    place = {"document_id": "a", "start": 0, "end": 4}
    words = {"phrase": "late", "says": "late", "context": context, "context_start": 13}
    candidate = words | {"span": place, "score": 0.8, "raw": 0.8, "stratum": 1, "probability": 1}
    desktop.route("**/label-candidates?*", lambda route: route.fulfill(json={"candidates": [candidate]}))
    desktop.request.post("/collections/sample/phrases", data={"name": "marked", "text": "late"})
    desktop.goto("/?view=thresholds&c=sample&p=marked")
    desktop.get_by_role("button", name="Propose examples").click()
    quote = desktop.locator("blockquote")
    quote.wait_for()
    assert quote.evaluate("quote => [...quote.childNodes].map((node) => node.textContent)") == [
        context[:13],
        "late",
        " parcel",
    ]


def test_precision_and_recall_of_labels_are_those_by_hand(page):
    page.goto("/docs")
    figures = page.evaluate(
        """async () => {
          const path = document.querySelector('script[type=module]').src.replace('main.js', 'labels.js');
          const { precision, recall, suggested } = await import(path);
          const rows = [[0.9, true, 0.5], [0.8, false, 1], [0.7, true, 1]];
          const labels = rows.map(([score, match, probability]) => ({ score, match, probability }));
          return [precision(labels, 0.8), recall(labels, 0.8), suggested(labels)];
        }"""
    )
    assert figures[0]["value"] == figures[1]["value"] == 2 / 3
    assert 0 < figures[0]["low"] < 2 / 3 < figures[0]["high"] < 1
    assert figures[2] == 0.9


def test_labels_are_ticks_below_the_threshold_and_a_phrase_is_deleted(desktop):
    desktop.request.post("/collections/sample/phrases", data={"name": "gone", "text": "the parcel never came"})
    desktop.goto("/?view=thresholds&c=sample&p=gone")
    desktop.get_by_role("button", name="Propose examples").click()
    desktop.get_by_text("0 of 60 labelled").wait_for()
    for number, key in enumerate("yn", 1):
        desktop.keyboard.press(key)
        desktop.get_by_text(f"{number} of 60 labelled").wait_for()
    ticks = desktop.locator(".ticks path").evaluate_all(
        "paths => paths.map((path) => path.getAttribute('d').split('M').length - 1)"
    )
    assert ticks == [1, 1]
    desktop.get_by_role("button", name="Delete the phrase").click()
    desktop.get_by_role("button", name="Delete for good").click()
    desktop.get_by_role("button", name="Delete the phrase").or_(
        desktop.get_by_text("Save a phrase to see")
    ).first.wait_for()
    names = [one["name"] for one in desktop.request.get("/collections/sample/phrases?limit=1000").json()["phrases"]]
    assert "gone" not in names

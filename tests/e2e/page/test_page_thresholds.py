"""The walk of a person who tunes thresholds, in a real browser."""

from tests.e2e.page.checks import no_sideways_scrolling, serious


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
    page.get_by_role("button", name="Undo the phrase's last change").click()
    page.get_by_role("cell", name="undo", exact=True).wait_for()
    assert serious(page) == []
    assert no_sideways_scrolling(page)


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

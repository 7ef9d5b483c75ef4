"""Walks by the keyboard alone, in a real browser."""

from tests.e2e.page.checks import tab_to


def test_thresholds_are_labelled_saved_and_undone(desktop):
    page = desktop
    page.goto("/?view=thresholds&c=sample")
    page.get_by_label("New phrase").wait_for()
    tab_to(page, "New phrase")
    page.keyboard.type("the box was empty")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="the box was empty").wait_for()
    tab_to(page, "Propose examples")
    page.keyboard.press("Enter")
    page.get_by_text("0 of 60 labelled").wait_for()
    for key, count in (("y", 1), ("n", 2), ("u", 1)):
        page.keyboard.press(key)
        page.get_by_text(f"{count} of 60 labelled").wait_for()
    tab_to(page, "Match (y)")
    for count in (2, 3):
        page.keyboard.press("Enter")
        page.get_by_text(f"{count} of 60 labelled").wait_for()
    tab_to(page, "Threshold")
    value = float(page.get_by_label("Threshold").input_value())
    page.keyboard.press("ArrowLeft")
    lower = round(value - 0.01, 2)
    page.get_by_text(f"at {lower:.2f} or more").first.wait_for()
    tab_to(page, "Save for this phrase")
    page.keyboard.press("Enter")
    page.get_by_role("cell", name=f"{lower} on score").first.wait_for()
    tab_to(page, "Undo the phrase's last change")
    page.keyboard.press("Enter")
    page.get_by_role("cell", name="undo", exact=True).wait_for()


def test_data_is_uploaded(desktop):
    page = desktop
    page.goto("/?view=data&c=sample")
    page.locator("main table").first.wait_for()
    tab_to(page, "Into")
    page.keyboard.press("End")
    tab_to(page, "Name of the new collection")
    page.keyboard.type("typed")
    tab_to(page, "Files")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files([{"name": "note.txt", "mimeType": "text/plain", "buffer": b"A note."}])
    page.get_by_text("note.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    tab_to(page, "typed")
    page.keyboard.press("Enter")
    page.get_by_label("Phrase", exact=True).wait_for()
    assert "c=typed" in page.url

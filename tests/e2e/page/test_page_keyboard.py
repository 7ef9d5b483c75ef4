"""Walks by the keyboard alone, in a real browser."""

from playwright.sync_api import expect

from tests.e2e.page.checks import choose_file, settle, tab_to


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
    page.get_by_text(f"from {lower:.2f} on").first.wait_for()
    tab_to(page, "Save for this phrase")
    page.keyboard.press("Enter")
    page.get_by_role("cell", name=f"{lower} on score").first.wait_for()
    tab_to(page, "Undo the phrase's last change")
    page.keyboard.press("Enter")
    page.get_by_role("cell", name="undo", exact=True).wait_for()


def test_a_search_is_narrowed_compared_explained_and_counted(desktop):
    page = desktop
    page.goto("/?c=sample")
    page.get_by_label("Phrase", exact=True).wait_for()
    page.keyboard.press("/")
    page.keyboard.type("refund")
    page.keyboard.press("Enter")
    page.get_by_text("1,000 shown").wait_for()
    page.keyboard.press("Tab")
    tab_to(page, "More options")
    page.keyboard.press("Enter")
    for control, value in (("Compare with", "vs=lexical"), ("What is marked", "b=sentence")):
        tab_to(page, control)
        page.keyboard.press("End" if control == "What is marked" else "ArrowDown")
        page.wait_for_url(f"**{value}**")
    page.locator(".results:not([aria-busy]) .hits").nth(1).wait_for()
    settle(page)
    tab_to(page, "Threshold")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**t=0.01**")
    page.keyboard.press("Tab")  # the list of hits
    values = page.get_by_role("group", name="kind", exact=True).get_by_role("button")
    tab_to(page, values.first.inner_text().replace("\n", ""))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_text("Filtered by kind").wait_for()
    page.get_by_role("button", name="Clear filters").wait_for()
    page.wait_for_function("document.activeElement.ariaPressed === 'true'")  # it keeps the focus
    page.keyboard.press("Shift+Tab")
    tab_to(page, "Clear filters")
    page.keyboard.press("Enter")
    page.get_by_text("Filter by metadata").wait_for()
    settle(page)
    page.keyboard.press("j")
    page.keyboard.press("w")
    page.get_by_role("dialog", name="Why this hit").locator(".unit").first.wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("b")
    page.locator(".more").get_by_text("before", exact=False).or_(page.locator(".more .before b")).first.wait_for()
    tab_to(page, "Document")
    page.keyboard.press("Enter")
    page.locator(".pane mark").first.wait_for()
    page.keyboard.press("Escape")
    tab_to(page, "Several phrases")
    page.keyboard.press("Enter")
    page.get_by_label("Phrases, one a line").wait_for()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("late parcel")
    tab_to(page, "Search")
    page.keyboard.press("Enter")
    page.locator("tbody tr").nth(1).wait_for()
    tab_to(page, "Export as CSV")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert [line.split(",")[0] for line in download.value.path().read_text().splitlines()[1:]] == [
        "refund",
        "late parcel",
    ]
    tab_to(page, "Theme: light")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.style.colorScheme") == "dark"
    tab_to(page, "Data")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Your data").wait_for()


def test_a_table_is_added_and_a_snapshot_is_made_restored_and_deleted(desktop):
    page = desktop
    page.goto("/?view=data&c=sample")
    page.locator("main table").first.wait_for()
    tab_to(page, "Into")
    page.keyboard.press("Home")
    tab_to(page, "Name of the new collection")
    page.keyboard.press("Control+a")
    page.keyboard.type("keyed")
    choose_file(page, {"name": "t.csv", "mimeType": "text/csv", "buffer": b"note,city\nA note.,Rome\n"})
    page.get_by_role("form", name="t.csv").wait_for()
    expect(page.get_by_label("Into")).to_have_value("keyed")
    tab_to(page, "Texts are in")
    page.keyboard.press("Home")
    tab_to(page, "Add this table")
    page.keyboard.press("Enter")
    page.get_by_text("t.csv: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    page.goto("/?view=data&c=keyed")
    page.get_by_role("button", name="Make a snapshot").wait_for()
    tab_to(page, "Make a snapshot")
    page.keyboard.press("Enter")
    page.get_by_text("1 document ").wait_for()
    tab_to(page, "Restore as a new collection")
    page.keyboard.press("Enter")
    tab_to(page, "Its name")
    page.keyboard.press("Control+a")
    page.keyboard.type("keyed-again")
    tab_to(page, "Restore")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="keyed-again").wait_for()
    tab_to(page, "Delete")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.get_by_label("Snapshots").get_by_text("None yet.").wait_for()


def test_data_is_uploaded(desktop):
    page = desktop
    page.goto("/?view=data&c=sample")
    page.locator("main table").first.wait_for()
    tab_to(page, "Into")
    page.keyboard.press("Home")
    tab_to(page, "Name of the new collection")
    page.keyboard.type("typed")
    choose_file(page, {"name": "note.txt", "mimeType": "text/plain", "buffer": b"A note."})
    page.get_by_text("note.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    tab_to(page, "typed")
    page.keyboard.press("Enter")
    page.get_by_label("Phrase", exact=True).wait_for()
    assert "c=typed" in page.url

"""Checks of any view: no sideways scrolling, no serious finding of axe-core, and the way to a control by Tab."""

import pytest


def no_sideways_scrolling(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def serious(page) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    violations = axe.Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html']}" for each in violations if each["impact"] in ("serious", "critical")
    ]


_SETTLED = """() => {
  const lists = [...document.querySelectorAll(".results:not([aria-busy]) .hits")];
  return lists.length > 0 && lists.every((list) => list.closest("[data-settled]"));
}"""


def settle(page) -> None:
    """Wait until all hits of a search and their counts are there: before, the list may change below a key."""
    page.wait_for_function(_SETTLED)


_NAME = """() => {
  const element = document.activeElement;
  const label = element.labels?.[0]?.firstChild || element;
  return element.getAttribute("aria-label") || label.textContent.trim();
}"""


def tab_to(page, name: str) -> None:
    """Press Tab until a control of this name has the focus."""
    names = []
    for _ in range(100):
        page.keyboard.press("Tab")
        names.append(page.evaluate(_NAME))
        if names[-1] == name:
            return
    raise AssertionError(f"Tab does not reach {name}: {names}")


def choose_file(page, file: dict[str, object]) -> None:
    """Chooses a file in the field "Files" by keyboard, as Playwright describes files.

    The dialog is expected before the field is reached: Chromium learns of it asynchronously, and a key that comes
    sooner opens a dialog of its own, which nobody answers.
    """
    with page.expect_file_chooser() as chooser:
        page.evaluate("new Promise(requestAnimationFrame)")
        tab_to(page, "Files")
        page.keyboard.press("Space")
    chooser.value.set_files([file])

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

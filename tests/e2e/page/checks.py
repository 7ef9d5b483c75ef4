"""Checks of any view: no sideways scrolling, and no serious finding of axe-core."""

import pytest


def no_sideways_scrolling(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def serious(page) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    violations = axe.Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html']}" for each in violations if each["impact"] in ("serious", "critical")
    ]

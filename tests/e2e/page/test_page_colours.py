"""Every view of the page without serious findings of axe-core, in light and in dark colours."""

import pytest

from tests.e2e.page.checks import serious
from tests.e2e.page.conftest import window

pytestmark = pytest.mark.slow

SEARCH = "/?c=sample&q=refund"
VIEWS = {
    "start": ("/?c=sample", "text=Write what you are looking for"),
    "hits": (SEARCH, ".card mark"),
    "two modes": (f"{SEARCH}&vs=lexical", ".columns.two .card"),
    "phrases": ("/?c=sample&many=1&q=refund%0Alate+parcel", "tbody tr"),
    "thresholds": ("/?view=thresholds&c=sample", "main h1"),
    "data": ("/?view=data&c=sample", "main table"),
    "reference": ("/docs", "text=POST /search"),
}
OPENED = {"w": "dialog .unit", "o": ".pane mark", "b": ".more .before"}


@pytest.fixture(params=["light", "dark"])
def coloured(request, browser, address):
    """A window with a preference for light or dark colours."""
    with window(browser, address, color_scheme=request.param) as opened:
        yield opened


@pytest.mark.parametrize("view", VIEWS)
def test_views(coloured, view):
    path, shown = VIEWS[view]
    coloured.goto(path)
    coloured.locator(shown).first.wait_for()
    assert serious(coloured) == []


@pytest.mark.parametrize("key", OPENED)
def test_what_a_hit_opens(coloured, key):
    coloured.goto(SEARCH)
    coloured.locator(".card").first.wait_for()
    coloured.keyboard.press("j")
    coloured.keyboard.press(key)
    coloured.locator(OPENED[key]).first.wait_for()
    assert serious(coloured) == []


def test_signing_in(coloured):
    coloured.route("**/collections", lambda route: route.fulfill(status=401, json={"detail": "A key is needed."}))
    coloured.goto("/?c=sample")
    coloured.get_by_label("API key").wait_for()
    assert serious(coloured) == []


def test_labels(coloured, address):
    phrase = {"name": "colours", "text": "the parcel never came"}
    coloured.request.post(f"{address}/collections/sample/phrases", data=phrase)  # once for both
    coloured.goto("/?view=thresholds&c=sample&p=colours")
    coloured.get_by_role("button", name="Propose examples").click()
    coloured.get_by_text("0 of 60 labelled").wait_for()
    coloured.keyboard.press("y")
    coloured.get_by_text("precision").last.wait_for()
    assert serious(coloured) == []


def test_problems(coloured):
    coloured.route(
        "**/search", lambda route: route.fulfill(status=503, json={"detail": "It is busy.", "hint": "Wait."})
    )
    coloured.goto(SEARCH)
    coloured.get_by_role("alert").get_by_text("It is busy.").wait_for()
    assert serious(coloured) == []


def test_the_theme_is_turned_and_remembered(coloured):
    def background():
        return coloured.evaluate("getComputedStyle(document.body).backgroundColor")

    coloured.goto("/?c=sample")
    preferred = background()
    coloured.get_by_role("button", name="Theme").click()
    turned = background()
    assert turned != preferred
    coloured.reload()
    assert background() == turned

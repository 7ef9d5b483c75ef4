"""Every view of the page without serious findings of axe-core, in light, in dark colours and on a phone."""

import pytest

from tests.e2e.page.checks import no_sideways_scrolling, serious, settle
from tests.e2e.page.conftest import window

pytestmark = pytest.mark.slow("every view in three colour schemes")

SEARCH = "/?c=sample&q=refund"
VIEWS = {
    "start": ("/?c=sample", "text=Write what you are looking for"),
    "hits": (SEARCH, ".card mark"),
    "two modes": (f"{SEARCH}&vs=lexical", ".columns.two .card"),
    "phrases": ("/?c=sample&many=1&q=refund%0Alate+parcel", "tbody tr"),
    "thresholds": ("/?view=thresholds&c=sample", "main h1"),
    "data": ("/?view=data&c=sample", "main table"),
    "compare": ("/?view=texts&c=sample", "main h1"),
    "restore": ("/?view=restore&c=sample", "main h1"),
    "missing": ("/?c=nosuch&q=refund", "[role=alert]"),
    "reference": ("/docs", "text=POST /search"),
}
OPENED = {"w": "dialog .unit", "o": ".pane mark", "b": ".more .before"}


@pytest.fixture(params=["light", "dark", "phone"])
def coloured(request, browser, address):
    """A window with a preference for light or dark colours, or a phone's, in dark colours."""
    phone = {"viewport": {"width": 390, "height": 800}, "has_touch": True} if request.param == "phone" else {}
    with window(browser, address, color_scheme="light" if request.param == "light" else "dark", **phone) as opened:
        yield opened


@pytest.mark.parametrize("view", VIEWS)
def test_views(coloured, view):
    path, shown = VIEWS[view]
    coloured.goto(path)
    coloured.locator(shown).first.wait_for()
    assert serious(coloured) == []
    assert no_sideways_scrolling(coloured)


@pytest.mark.parametrize("key", OPENED)
def test_what_a_hit_opens(coloured, key):
    coloured.goto(SEARCH)
    settle(coloured)
    coloured.keyboard.press("j")
    coloured.keyboard.press(key)
    coloured.locator(OPENED[key]).first.wait_for()
    assert serious(coloured) == []


# Where a bar or a border lies, in the elements that have it: colours of `shape` against those of each of `grounds`.
BARS = """([html, tag, property, grounds]) => {
  const place = document.createElement("div");
  place.innerHTML = html;
  document.body.append(place);
  const shape = place.querySelector(tag);
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (name) => {
    place.style.color = `var(${name})`;
    return getComputedStyle(place).color;
  };
  const own = getComputedStyle(shape)[property];
  const ratios = grounds.map((name) => {
    const [low, high] = [light(own), light(ground(name))].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
  place.remove();
  return ratios;
}"""
SHAPES = {
    "bar below the threshold": (
        '<svg class="histogram"><path class="low"/></svg>',
        "path",
        "fill",
        ["--surface", "--line"],
    ),
    "bar above it": ('<svg class="histogram"><path class="high"/></svg>', "path", "fill", ["--surface", "--line"]),
    "label that matches": ('<svg class="ticks"><path class="yes"/></svg>', "path", "fill", ["--surface"]),
    "label that does not": ('<svg class="ticks"><path class="no"/></svg>', "path", "fill", ["--surface"]),
    "weeks": ('<svg class="spark"><path/></svg>', "path", "fill", ["--bg"]),
    "values": ('<ul class="bars"><li><i></i></li></ul>', "i", "backgroundColor", ["--bg"]),
    "score": (
        '<div class="score"><span class="track"><b class="fill"></b></span></div>',
        "b",
        "backgroundColor",
        ["--line"],
    ),
    "interval": ('<div class="range"><i></i></div>', "i", "backgroundColor", ["--line", "--surface"]),
    "place in the document": ('<div class="strip"><i></i></div>', "i", "backgroundColor", ["--line"]),
    "weaker place": ('<div class="strip"><i class="near"></i></div>', "i", "backgroundColor", ["--line"]),
    "mark that may be": ('<mark class="near"></mark>', "mark", "borderBottomColor", ["--surface", "--tint"]),
    "mark that is unlikely": ('<mark class="unlikely"></mark>', "mark", "borderBottomColor", ["--surface", "--tint"]),
    "mark that is not sure": ('<mark class="unsure"></mark>', "mark", "borderBottomColor", ["--surface", "--tint"]),
    "field": ("<input>", "input", "borderTopColor", ["--surface", "--bg"]),
    "button": ('<button class="plain"></button>', "button", "borderTopColor", ["--surface", "--bg"]),
}


def test_bars_and_borders_that_say_something_have_a_contrast_of_three(coloured):
    coloured.goto("/?c=sample")
    coloured.get_by_label("Phrase", exact=True).wait_for()
    found = {name: coloured.evaluate(BARS, list(shape)) for name, shape in SHAPES.items()}
    assert {name: ratios for name, ratios in found.items() if min(ratios) < 3} == {}


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

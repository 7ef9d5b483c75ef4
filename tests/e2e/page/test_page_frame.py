"""What stands around the views, in a real browser: navigation, languages, missing collections, keys of few rights."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
from playwright.sync_api import expect

import app
from app.requests import ModeName
from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key
from indexer.catalog.schema import upgrade
from models.verifier.types import DIFFERENCES
from tests.e2e.page.checks import no_sideways_scrolling, serious
from tests.e2e.page.conftest import window
from tests.serving import running

pytestmark = pytest.mark.ci("a browser")
ROOT = Path(app.__file__).parents[1]
PAGE = ROOT / "app" / "page"
WORDS = "document.querySelector('script[type=module]').src.replace('main.js', 'words.js')"


def go(page, view: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=view, exact=True).click()


def test_the_views_change_without_reloading(desktop):
    desktop.goto("/?c=sample")
    desktop.evaluate("window.kept = true")
    for view, heading in (
        ("Data", "Your data"),
        ("API", "Spanseek API"),
        ("Compare", "Compare and summarize texts"),
        ("Restore", "Restore texts from vectors"),
        ("Thresholds", "Which hits are good enough?"),
    ):
        go(desktop, view)
        desktop.locator("h1").get_by_text(heading).wait_for()
        assert desktop.evaluate("window.kept && document.activeElement.id") == "main"
        assert desktop.title() == f"{view} · Spanseek"
    assert "c=sample" in desktop.url
    desktop.go_back()
    desktop.locator("h1").get_by_text("Restore texts from vectors").wait_for()
    assert desktop.evaluate("window.kept")


def test_another_view_leads_back_to_the_search_that_was_left(desktop):
    desktop.goto("/?c=sample&q=refund&t=0.5")
    desktop.locator(".card").first.wait_for()
    go(desktop, "Data")
    desktop.locator("h1").get_by_text("Your data").wait_for()
    go(desktop, "Search")
    desktop.locator(".card").first.wait_for()
    assert desktop.get_by_label("Phrase", exact=True).input_value() == "refund"
    assert "t=0.5" in desktop.url
    go(desktop, "Search")
    desktop.get_by_text("Write what you are looking for").wait_for()


def test_a_link_to_a_missing_collection_shows_no_other_ones_hits(page):
    page.goto("/?c=nosuch&q=refund")
    alert = page.get_by_role("alert")
    alert.get_by_text("There is no collection nosuch here").wait_for()
    expect(page.locator("mark")).to_have_count(0)
    assert "c=nosuch" in page.url
    assert serious(page) == []
    alert.get_by_role("link", name="sample", exact=True).click()
    page.get_by_label("Phrase", exact=True).wait_for()
    assert "c=sample" in page.url


def test_another_name_leads_to_the_collection(desktop, address):
    assert desktop.request.put(f"{address}/aliases/other", data={"collection": "sample"}).ok
    desktop.goto("/?c=other&view=data")
    desktop.get_by_role("heading", name="Tasks of sample").wait_for()
    assert desktop.request.delete(f"{address}/aliases/other").ok


def test_the_page_speaks_german_where_the_browser_does_and_changes_by_a_switch(browser, address):
    with window(browser, address, locale="de-DE", viewport={"width": 390, "height": 800}) as page:
        page.goto("/?view=data&c=sample")
        page.get_by_role("heading", name="Ihre Daten").wait_for()
        assert page.evaluate("document.documentElement.lang") == "de"
        assert serious(page) == []
        assert no_sideways_scrolling(page)
        page.get_by_label("Sprache").select_option("en")
        page.get_by_role("heading", name="Your data").wait_for()
        page.reload()
        page.get_by_role("heading", name="Your data").wait_for()


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/?c=sample&q=refund&t=0.5", ".card mark"),
        ("/?c=sample&q=refund&vs=lexical", ".columns.two .card"),
        ("/?c=sample&many=1&q=refund%0Alate+parcel", "tbody tr"),
        ("/?view=thresholds&c=sample&p=deutsch", ".slider"),
        ("/?view=data&c=sample", "main table"),
    ],
)
def test_no_view_mixes_german_with_english(browser, address, path, shown):
    with window(browser, address, locale="de-DE", viewport={"width": 1280, "height": 900}) as page:
        page.request.post(f"{address}/collections/sample/phrases", data={"name": "deutsch", "text": "refund"})
        page.goto(path)
        page.locator(shown).first.wait_for()
        english = page.evaluate(
            f"""async () => {{
              const {{ WORDS }} = await import({WORDS});
              const labels = [...document.querySelectorAll("[aria-label], [placeholder], [title]")]
                .flatMap((one) => [one.ariaLabel, one.placeholder, one.title]);
              const texts = [...document.body.innerText.split("\\n"), ...labels].map((one) => one?.trim());
              // What begins with a small letter may be data, as the key "topic" is.
              const isSaid = ({{ en, de }}) => en !== de && /^[A-Z]/.test(en) && texts.includes(en);
              return Object.values(WORDS).filter(isSaid).map(({{ en }}) => en);
            }}"""
        )
        assert english == []


def test_every_text_that_is_asked_for_is_there():
    written = {path.name: path.read_text() for path in PAGE.glob("*.js")}
    names = set(re.findall(r"^  (\w+): \{", written["words.js"], re.MULTILINE))
    asked = {(file, name) for file, text in written.items() for name in re.findall(r'\bt\("(\w+)"[,)]', text)}
    assert len(asked) > 100
    assert [(file, name) for file, name in sorted(asked) if name not in names] == []
    assert [f"mode_{name}" for name in get_args(ModeName) if f"mode_{name}" not in names] == []
    assert [f"kind_{name}" for name in DIFFERENCES if f"kind_{name}" not in names] == []


def test_every_text_has_every_language_and_the_same_places(desktop):
    desktop.goto("/docs")
    wrong = desktop.evaluate(
        f"""async () => {{
          const {{ LANGUAGES, WORDS }} = await import({WORDS});
          const places = (text) => [...new Set([text].flat().at(-1).match(/\\{{\\w+\\}}/g))].sort().join();
          return Object.entries(WORDS).filter(([, row]) => Object.keys(LANGUAGES).some((language) =>
            !row[language] || places(row[language]) !== places(row.en))).map(([name]) => name);
        }}"""
    )
    assert wrong == []


def test_the_colours_say_their_state(desktop):
    desktop.goto("/?c=sample")
    theme = desktop.get_by_role("button", name="Theme: light")
    theme.click()
    desktop.get_by_role("button", name="Theme: dark").wait_for()


@pytest.mark.parametrize("path", ["/?c=sample&q=refund", "/?view=data&c=sample", "/?view=texts", "/docs"])
def test_fingers_reach_what_they_press(browser, address, path):
    """Buttons, links of the navigation and fields are 44 pixels high on a phone."""
    with window(browser, address, viewport={"width": 390, "height": 800}, has_touch=True) as page:
        page.goto(path)
        page.get_by_role("button").first.wait_for()
        page.locator("main h1").first.wait_for(state="attached")
        low = page.evaluate(
            """[...document.querySelectorAll("button, nav a, select, input:not([type=checkbox]), textarea")]
              .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 44)
              .map((one) => one.outerHTML)"""
        )
        assert low == []


def test_a_focus_ring_leaves_the_label_free(desktop):
    desktop.goto("/?c=sample")
    field = desktop.get_by_label("Phrase", exact=True)
    field.focus()
    label, ring = field.evaluate(
        """field => { const words = document.createRange(), style = getComputedStyle(field);
        words.selectNode(field.labels[0].firstChild);
        const ring = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
        return [words.getBoundingClientRect().bottom, field.getBoundingClientRect().top - ring]; }"""
    )
    assert label <= ring


def test_a_table_that_goes_on_shows_a_shadow(browser, address):
    """And so does the panel of filters beside the list."""
    with window(browser, address, viewport={"width": 390, "height": 800}) as page:
        page.goto("/?view=data&c=sample")
        table = page.get_by_role("region", name="Collections")
        table.wait_for()
        assert table.evaluate("one => one.scrollWidth > one.clientWidth")
        assert "linear" in table.evaluate("one => getComputedStyle(one).backgroundImage")
        assert no_sideways_scrolling(page)
    with window(browser, address, viewport={"width": 1280, "height": 500}) as page:
        page.goto("/?c=sample&q=refund")
        page.locator(".card").first.wait_for()
        side = page.locator(".side")
        page.get_by_role("group", name="kind", exact=True).wait_for()
        assert side.evaluate("one => one.scrollHeight > one.clientHeight")
        assert "linear" in side.evaluate("one => getComputedStyle(one).backgroundImage")


def test_the_list_of_what_was_mended_names_tests_and_pictures_that_are_there():
    text = (ROOT / "docs" / "page.md").read_text()
    written = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > 30
    assert [name for name in named if f"def {name}(" not in written] == []
    pictures = re.findall(r"\(images/(.+?)\)", text)
    assert [name for name in pictures if not (ROOT / "docs" / "images" / name).is_file()] == []
    assert [path.name for path in (ROOT / "docs" / "images").iterdir() if path.stat().st_size >= 60_000] == []


def test_no_movement_for_those_who_want_none(browser, address):
    with window(browser, address, reduced_motion="reduce") as page:
        page.goto("/docs")
        page.get_by_text("POST /search", exact=True).wait_for()
        moving = page.evaluate(
            """[...document.querySelectorAll('*')]
              .filter((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0).length"""
        )
        assert moving == 0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a server that asks for keys, and a key that may search alone."""
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("few-rights"), encoder="hashing")
    upgrade(settings.catalog_url)
    with closing(Catalog(settings.catalog_url)) as catalog:
        _, token = create_key(catalog, "all", ["search", "index", "admin"])
        _, searcher = create_key(catalog, "searcher", ["search"])
    with running(settings, host="0.0.0.0") as (_, client):
        headers = {"Authorization": f"Bearer {token}"}
        client.put("/collections/mine", json={}, headers=headers).raise_for_status()
        document = {"id": "a", "text": "a quiet zebra"}
        client.post("/collections/mine/documents", json=document, headers=headers).raise_for_status()
        yield f"http://127.0.0.1:{client.base_url.port}", searcher


def test_a_key_for_searches_sees_no_words_of_scopes_and_is_forgotten_on_signing_out(browser, guarded):
    address, searcher = guarded
    with window(browser, address) as page:
        page.goto("/?view=data&c=mine")
        page.get_by_label("API key").wait_for()
        assert page.evaluate("document.activeElement.id") == "key"
        page.keyboard.type(searcher)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Matches of saved phrases in mine").wait_for()
        assert page.get_by_role("button", name="Delete").count() == 0
        page.get_by_role("navigation").get_by_role("link", name="Thresholds").wait_for(state="hidden")
        expect(page.locator("body")).not_to_contain_text("scope", use_inner_text=True)
        go(page, "Search")
        page.get_by_label("Phrase", exact=True).wait_for()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.goto("/?c=mine&q=zebra")
        page.get_by_role("button", name="Yes, it says this").first.click()
        page.get_by_text("1 answer, kept in this browser.").wait_for()
        page.reload()
        page.get_by_label("Phrase", exact=True).wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in with a key").wait_for()
        assert page.evaluate("sessionStorage.length") == 0

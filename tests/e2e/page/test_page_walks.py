"""The walks of four people, each with a key, in a real browser behind a real nginx at a prefix."""

import csv
import io
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from openpyxl import load_workbook
from playwright.sync_api import expect

from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key
from indexer.catalog.schema import upgrade
from tests.e2e.page.checks import no_sideways_scrolling, serious, settle
from tests.e2e.page.conftest import window
from tests.nginx import nginx
from tests.pdf_files import lines, pdf
from tests.serving import running
from tests.word_files import paragraph, run, word_file

pytestmark = pytest.mark.slow("long walks through the page")
SCOPES = {"analyst": ["search", "index"], "lawyer": ["search", "index"], "operator": ["admin"], "reader": ["search"]}
CALLS = """call,turn,speaker,said
c-1,1,agent,How can I help you?
c-1,2,customer,I was charged twice for one invoice.
c-2,1,agent,Good morning.
c-2,2,customer,The parcel never came.
c-3,1,customer,Thank you for the fast delivery.
"""
LEASE = pdf(
    lines("This lease is governed by the laws of Scotland.", "The rent is due on the first day of a month."),
    lines("Either party may end the lease by a notice of three months."),
)
SALE = word_file(paragraph(run("The seller bears the risk until delivery.")) + paragraph(run("Dutch law applies.")))


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of the page behind nginx, and a key for everybody."""
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("walks"), encoder="hashing")
    upgrade(settings.catalog_url)
    with closing(Catalog(settings.catalog_url)) as catalog:
        keys = {name: create_key(catalog, name, scopes)[1] for name, scopes in SCOPES.items()}
    with running(settings, trusted_proxies="127.0.0.1") as (_, client):
        headers = {"Authorization": f"Bearer {keys['operator']}"}
        for name in ("calls", "contracts"):
            client.put(f"/collections/{name}", json={}, headers=headers).raise_for_status()
        with nginx(str(client.base_url).rstrip("/"), tmp_path_factory.mktemp("nginx")) as address:
            yield f"{address}/spanseek/", keys


@pytest.fixture
def walk(browser: Any, proxied: tuple[str, dict[str, str]], request: pytest.FixtureRequest) -> Iterator[Any]:
    """``walk(view)``: the window of the person that the test is named after, who has signed in."""
    address, keys = proxied
    person = request.node.name.split("_")[2]
    with window(browser, address, viewport={"width": 1280, "height": 900}, accept_downloads=True) as page:
        page.goto("./")
        page.get_by_label("API key").fill(keys[person])
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for(state="hidden")
        yield page
        assert page.url.startswith(address)
        assert page.get_by_role("dialog", name="Sign in with a key").count() == 0
        assert keys[person] not in page.content()


def go(page: Any, view: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=view, exact=True).click()


def upload(page: Any, into: str, *files: tuple[str, bytes]) -> None:
    page.get_by_label("Into").select_option(into)
    sent = [{"name": name, "mimeType": "application/octet-stream", "buffer": body} for name, body in files]
    page.get_by_label("Files").set_input_files(sent)


def search(page: Any, phrase: str) -> None:
    page.get_by_label("Phrase", exact=True).fill(phrase)
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator(".results:not([aria-busy]) .card mark").first.wait_for()
    settle(page)


def export(page: Any, form: str) -> bytes:
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name=form).click()
    return download.value.path().read_bytes()


def test_an_analyst_adds_calls_finds_a_complaint_and_keeps_the_phrase(walk: Any) -> None:
    """From a table to a saved phrase with its matches, and a table for colleagues."""
    go(walk, "Data")
    upload(walk, "calls", ("calls.csv", CALLS.encode()))
    form = walk.get_by_role("form", name="calls.csv")
    expect(form.get_by_label("Texts are in")).to_have_value("said")
    form.get_by_role("button", name="Add this table").click()
    walk.get_by_text("calls.csv: 3 indexed, 0 unchanged, 0 failed").first.wait_for()
    walk.get_by_role("link", name="Search it").click()
    search(walk, "I was charged twice")
    first = walk.locator(".card").first
    expect(first.locator("mark").first).to_contain_text("charged twice", use_inner_text=True)
    walk.keyboard.press("Escape")
    first.get_by_role("button", name="What was said before").click()
    walk.locator(".more .before").get_by_text("How can I help you?").wait_for()
    first.get_by_role("button", name="Yes, it says this").click()
    walk.get_by_text("1 answer, kept in this browser.").wait_for()
    rows = list(csv.DictReader(io.StringIO(export(walk, "CSV, for a spreadsheet").decode("utf-8-sig"))))
    assert rows[0]["document_id"] == "c-1"
    walk.get_by_role("button", name="Save phrase").click()
    walk.get_by_text("Saved; ").wait_for()
    walk.get_by_role("link", name="See its matches").click()
    walk.get_by_role("region", name="Matches of saved phrases").get_by_text("c-1").first.wait_for()
    assert serious(walk) == []


def test_a_lawyer_adds_contracts_and_cites_a_clause_with_its_page(walk: Any) -> None:
    """A PDF and a Word file become documents; a clause is read in its contract, cited and exported."""
    walk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    go(walk, "Data")
    upload(walk, "contracts", ("lease.pdf", LEASE), ("sale.docx", SALE))
    for name in ("lease.pdf", "sale.docx"):
        walk.get_by_text(f"{name}: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    walk.get_by_role("link", name="Search it").first.click()
    search(walk, "Either party may end the lease")
    first = walk.locator(".card").first
    first.locator(".said").click()
    walk.locator(".pane mark.current").first.wait_for()
    expect(walk.locator(".pane")).to_contain_text("governed by the laws of Scotland", use_inner_text=True)
    walk.keyboard.press("Escape")
    settle(walk)
    first.focus()
    walk.keyboard.press("c")
    walk.locator("#status").get_by_text("copied").wait_for(state="attached")
    cited = walk.evaluate("navigator.clipboard.readText()")
    assert "lease.pdf" in cited
    assert "p. 2" in cited
    sheet = load_workbook(io.BytesIO(export(walk, "XLSX, for Excel"))).active
    names = [cell.value for cell in sheet[1]]
    assert sheet.cell(2, names.index("document_id") + 1).value == "lease.pdf"
    assert serious(walk) == []


def test_an_operator_keeps_watches_and_removes(walk: Any) -> None:
    """A snapshot is made and restored under another name, which is deleted; the reference sends requests."""
    go(walk, "Data")
    upload(walk, "calls", ("note.txt", b"The boiler is out of order."))
    walk.get_by_text("note.txt: 1 indexed, 0 unchanged, 0 failed").first.wait_for()
    panel = walk.get_by_label("Snapshots")
    panel.get_by_role("button", name="Make a snapshot").click()
    panel.get_by_text("Restore as a new collection").click()
    panel.get_by_label("Its name").fill("twin")
    panel.get_by_role("button", name="Restore", exact=True).click()
    row = walk.get_by_role("row").filter(has=walk.get_by_role("link", name="twin", exact=True))
    row.get_by_role("button", name="Delete").click()
    row.get_by_role("button", name="Delete for good").click()
    walk.get_by_role("link", name="twin", exact=True).wait_for(state="detached")
    assert serious(walk) == []
    go(walk, "Thresholds")
    walk.locator("h1").get_by_text("Which hits are good enough?").wait_for()
    go(walk, "API")
    route = walk.locator("details.panel").filter(has=walk.get_by_text("GET /tasks", exact=True))
    route.get_by_text("GET /tasks", exact=True).click()
    route.get_by_text("Try it").click()
    expect(route.locator("code.curl")).to_contain_text("/spanseek/tasks", use_inner_text=True)
    route.get_by_role("button", name="Send").click()
    route.locator("pre").filter(has_text='"kind": "snapshot"').wait_for()


def test_a_reader_searches_and_is_told_nothing_of_rights(walk: Any, proxied: tuple[str, dict[str, str]]) -> None:
    """Every view that a key for searches may see, none of what it may not, and a link that leads nowhere."""
    address, keys = proxied
    document = {"id": "mail-1", "text": "Dear shop, my order was lost on its way. Regards."}
    headers = {"Authorization": f"Bearer {keys['operator']}"}
    assert walk.request.post(f"{address}collections/calls/documents", data=document, headers=headers).ok
    walk.goto("./?c=calls")
    search(walk, "my order was lost")
    expect(walk.get_by_role("button", name="Save phrase")).to_have_count(0)
    settle(walk)
    walk.keyboard.press("j")
    walk.keyboard.press("o")
    walk.locator(".pane mark.current").first.wait_for()
    go(walk, "Data")
    walk.get_by_role("heading", name="Matches of saved phrases in calls").wait_for()
    for name in ("Delete", "Make a snapshot"):
        assert walk.get_by_role("button", name=name).count() == 0
    expect(walk.get_by_label("Files")).to_have_count(0)
    for view in ("Compare", "Restore", "API", "Search"):
        go(walk, view)
        walk.locator("main h1").first.wait_for(state="attached")
        expect(walk.get_by_role("alert")).to_have_count(0)
        assert no_sideways_scrolling(walk)
        if view != "API":
            expect(walk.locator("body")).not_to_contain_text("scope", use_inner_text=True)
    walk.goto("./?c=nosuch&q=refund")
    walk.get_by_role("alert").get_by_text("There is no collection nosuch here").wait_for()
    expect(walk.locator("mark")).to_have_count(0)

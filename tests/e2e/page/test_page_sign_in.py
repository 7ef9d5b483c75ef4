"""Signing in by a key, and at an identity provider, in a real browser."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import expect

from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key
from indexer.catalog.schema import upgrade
from tests.e2e.page.checks import serious
from tests.e2e.page.conftest import window
from tests.issuer import AUDIENCE
from tests.provider import CLIENT, Provider, provider
from tests.serving import running

pytestmark = pytest.mark.ci("a browser")
FOREIGN = "/?state=x&error=x&error_description=Your+session+was+stolen"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a server that asks for keys, and a key."""
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("guarded"), encoder="hashing")
    upgrade(settings.catalog_url)
    with closing(Catalog(settings.catalog_url)) as catalog:
        _, token = create_key(catalog, "test", ["search", "index", "admin"])
    with running(settings, host="0.0.0.0") as (_, client):
        headers = {"Authorization": f"Bearer {token}"}
        client.put("/collections/mine", json={}, headers=headers).raise_for_status()
        document = {"id": "a", "text": "a quiet zebra"}
        client.post("/collections/mine/documents", json=document, headers=headers).raise_for_status()
        yield f"http://127.0.0.1:{client.base_url.port}", token


def sign_in(page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")


def test_a_key_opens_the_page_and_stays_in_its_tab(browser, guarded):
    address, token = guarded
    with window(browser, address) as page:
        page.goto("/?c=mine&q=zebra")
        page.get_by_role("dialog", name="Sign in with a key").wait_for()
        expect(page.locator(".card")).to_have_count(0)
        sign_in(page, token)
        page.locator(".card mark").first.wait_for()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_text("at any score").first.wait_for()
        stored = page.evaluate("JSON.stringify([{...localStorage}, document.cookie, location.href])")
        assert token not in stored
        assert page.context.cookies() == []
        assert token not in page.content()
        page.reload()
        page.locator(".card mark").first.wait_for()
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_wrong_key_is_refused_in_words(browser, guarded):
    address, token = guarded
    with window(browser, address) as page:
        page.goto("/?c=mine&q=zebra")
        page.get_by_label("API key").wait_for()
        expect(page.get_by_text("This key was refused.")).to_have_count(0)
        sign_in(page, "no such key")
        page.get_by_role("dialog").get_by_text("This key was refused.").wait_for()
        assert serious(page) == []
        sign_in(page, token)
        page.locator(".card mark").first.wait_for()


@pytest.fixture(scope="module")
def at_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Provider]]:
    """The address of a server that takes tokens of a provider, and the provider."""
    with provider() as issuer:
        folder = tmp_path_factory.mktemp("provider")
        names = {"jwt_issuer": issuer.issuer, "jwt_audience": AUDIENCE, "jwt_client_id": CLIENT}
        settings = Settings(_env_file=None, data_dir=folder, encoder="hashing", **names)
        upgrade(settings.catalog_url)
        with closing(Catalog(settings.catalog_url)) as catalog:
            _, key = create_key(catalog, "test", ["search", "index", "admin"])
        with running(settings, **names) as (_, client):
            headers = {"Authorization": f"Bearer {key}"}
            client.put("/collections/mine", json={}, headers=headers).raise_for_status()
            document = {"id": "a", "text": "a quiet zebra"}
            client.post("/collections/mine/documents", json=document, headers=headers).raise_for_status()
            yield str(client.base_url).rstrip("/"), issuer


def test_a_person_signs_in_at_the_provider_and_comes_back_to_the_search(browser, at_provider):
    address, issuer = at_provider
    with window(browser, address, issuer.issuer) as page:
        page.goto("/?c=mine&q=zebra")
        button = page.get_by_role("button", name=f"Sign in at {issuer.issuer.removeprefix('http://')}")
        button.wait_for()
        assert serious(page) == []
        page.keyboard.press("Enter")  # it has the focus
        page.locator(".card mark").first.wait_for()
        assert "q=zebra" in page.url
        assert "code=" not in page.url
        assert page.evaluate("Object.keys(sessionStorage).includes('spanseek-sign-in')") is False
        assert page.evaluate("localStorage.length") == 0
        page.reload()
        page.locator(".card mark").first.wait_for()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Sign out").click()
        button.wait_for()
        assert page.evaluate("sessionStorage.length") == 0


def test_a_refusal_of_the_provider_is_said_and_a_strange_answer_gives_nothing(browser, at_provider):
    address, issuer = at_provider
    issuer.refuses = True
    try:
        with window(browser, address, issuer.issuer) as page:
            page.goto("/?c=mine&q=zebra")
            page.get_by_role("button", name="Sign in at").click()
            page.get_by_role("dialog").get_by_text("access_denied").wait_for()
            assert "q=zebra" in page.url
            page.goto("/?code=stolen&state=of-another-tab")
            page.get_by_role("dialog").get_by_text("that was begun in this tab").wait_for()
            assert page.evaluate("sessionStorage.length") == 0
            assert "stolen" not in page.url
            page.goto(FOREIGN)
            page.get_by_role("dialog").get_by_text("that was begun in this tab").wait_for()
            assert "stolen" not in page.content() + page.url
    finally:
        issuer.refuses = False


def test_a_link_of_somebody_else_asks_for_nothing_where_there_is_no_provider(desktop):
    desktop.goto(FOREIGN)
    desktop.get_by_label("Phrase", exact=True).wait_for()
    desktop.wait_for_load_state("networkidle")
    expect(desktop.get_by_role("dialog")).to_have_count(0)
    assert "stolen" not in desktop.content() + desktop.url


def test_where_there_is_no_provider_only_a_key_is_asked_for(browser, guarded):
    address, _ = guarded
    with window(browser, address) as page:
        page.goto("/?c=mine&q=zebra")
        page.get_by_label("API key").wait_for()
        assert page.request.get(f"{address}/sign-in").json() == {"provider": None}
        assert page.get_by_role("button", name="Sign in at").count() == 0

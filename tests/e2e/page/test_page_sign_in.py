"""Signing in by a key, in a real browser, on a server with keys."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key
from indexer.catalog.schema import upgrade
from tests.e2e.page.checks import serious
from tests.e2e.page.conftest import window
from tests.serving import running

pytestmark = pytest.mark.slow


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
        assert page.locator(".card").count() == 0
        sign_in(page, token)
        page.locator(".card mark").first.wait_for()
        assert page.get_by_role("dialog").count() == 0
        page.get_by_text("at any score").first.wait_for()
        stored = page.evaluate("JSON.stringify([{...localStorage}, document.cookie, location.href])")
        assert token not in stored
        assert page.context.cookies() == []
        assert token not in page.content()
        page.reload()
        page.locator(".card mark").first.wait_for()
        assert page.get_by_role("dialog").count() == 0


def test_a_wrong_key_is_refused_in_words(browser, guarded):
    address, token = guarded
    with window(browser, address) as page:
        page.goto("/?c=mine&q=zebra")
        page.get_by_label("API key").wait_for()
        assert page.get_by_text("This key was refused.").count() == 0
        sign_in(page, "no such key")
        page.get_by_role("dialog").get_by_text("This key was refused.").wait_for()
        assert serious(page) == []
        sign_in(page, token)
        page.locator(".card mark").first.wait_for()

"""Catalogs from before webhooks were a plug-in: their tables were part of the core."""

from contextlib import closing

import pytest

from indexer.catalog.collections import Catalog
from indexer.catalog.schema import check, downgrade, upgrade
from indexer.types import Recipe
from spanseek_webhooks.rows import Secret, WebhookDraft, create_webhook, list_webhooks

URL = "https://example.org/hook"


@pytest.mark.parametrize("held", [0, 2])
def test_a_catalog_from_before_keeps_its_webhooks(empty_url: str, held: int) -> None:
    upgrade(empty_url, "0017")
    with closing(Catalog(empty_url)) as catalog:
        catalog.create_collection("calls", Recipe("hashing", "f1", 3))
        made = [create_webhook(catalog, "calls", WebhookDraft(URL), Secret.new("mark")) for _ in range(held)]
        upgrade(empty_url)
        check(catalog)
        assert sorted(list_webhooks(catalog, "calls"), key=lambda each: each.id) == sorted(
            made, key=lambda each: each.id
        )
        assert create_webhook(catalog, "calls", WebhookDraft(URL), Secret.new("mark")).url == URL


def test_the_tables_go_back_into_the_core(empty_url: str) -> None:
    upgrade(empty_url)
    downgrade(empty_url, "0017")
    with closing(Catalog(empty_url)) as catalog:
        catalog.create_collection("calls", Recipe("hashing", "f1", 3))
        create_webhook(catalog, "calls", WebhookDraft(URL), Secret.new("mark"))
        upgrade(empty_url)
        assert len(list_webhooks(catalog, "calls")) == 1

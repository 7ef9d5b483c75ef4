"""What webhooks add to the catalog: their tables, and a letter for every task that ends."""

from pathlib import Path
from typing import Final

from indexer.catalog.branches import Branch
from spanseek_webhooks.letters import announce_ended
from spanseek_webhooks.tables import webhook_letters, webhooks

BRANCH: Final = Branch(
    "webhooks",
    version="0001",
    versions=Path(__file__).parent / "versions",
    tables=(webhooks, webhook_letters),
    # A task that ends meanwhile finds no webhook, and writes no letter.
    locked=(webhooks,),
    task_ended=announce_ended,
)

"""A server that is killed while it sends: each match is received at least once and in order, and none is lost."""

import random
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.types import Recipe
from models.encoders.registry import load_encoder
from tests.faults.places import ROUNDS
from tests.receivers import Received, Receiver, receiving
from tests.serving import running

KILLS = 5 if ROUNDS else 3
PHRASE = "cancel my subscription"


@pytest.fixture
def settings(url: str, tmp_path: Path) -> Settings:
    """An empty collection ``c``."""
    made = Settings(_env_file=None, data_dir=tmp_path / "data", encoder="hashing", database_url=url, grace_s=0)
    made.data_dir.mkdir()
    encoder = load_encoder("hashing")
    with closing(Catalog(url)) as catalog:
        catalog.create_collection("c", Recipe("hashing", encoder.fingerprint, encoder.dim))
    return made


@pytest.mark.slow("kills servers")
@pytest.mark.timeout(900)
def test_matches_survive_a_server_that_is_killed_while_it_sends(settings: Settings) -> None:
    chance, written, killers = random.Random(40), 0, []

    def answer(received: Received) -> int:
        if killers and chance.random() < 0.5:
            killers.pop().kill()  # the answer reaches nobody
        return chance.choice([200, 200, 500, 302])

    with receiving(Receiver(answer)) as receiver:
        for number in range(KILLS):
            with _server(settings) as (process, client):
                if not number:
                    made = client.post("/collections/c/webhooks", json={"url": receiver.url})
                    assert made.status_code == 200, made.text
                    saved = client.post("/collections/c/phrases", json={"text": PHRASE, "threshold": 0.9})
                    assert saved.status_code == 200, saved.text
                documents = [{"id": f"d{written + n:04d}", "text": f"{PHRASE} {n}"} for n in range(30)]
                assert client.post("/collections/c/documents", json=documents).status_code == 200
                written += len(documents)
                killers.append(process)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=chance.uniform(0.5, 4))
                killers.clear()
                process.kill()
                process.wait()
        receiver.answer = lambda received: 200
        with _server(settings) as (_, client):
            assert client.patch(f"/collections/c/webhooks/{made.json()['id']}", json={"note": "try now"}).is_success
            events = client.get("/collections/c/matches?limit=1000").json()["events"]
            while not _arrived(receiver) >= {each["match"] for each in events}:
                client.get("/health/live")
    assert len(events) == written
    firsts = list(dict.fromkeys(each["match"] for got in receiver.received for each in got.json.get("events", ())))
    assert firsts == sorted(firsts) == [each["match"] for each in events]


def _server(settings: Settings) -> Any:
    return running(settings, database_url=settings.database_url, grace_s=0, webhook_networks="127.0.0.0/8")


def _arrived(receiver: Receiver) -> set[int]:
    return {each["match"] for got in list(receiver.received) for each in got.json.get("events", ())}

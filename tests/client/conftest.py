"""One suite, both homes: every test asks a server over HTTP and an opened folder, and their answers are equal."""

from collections.abc import Iterator

import pytest

import spanseek
from app.settings import Settings
from indexer.catalog.schema import upgrade
from tests.client.homes import CALLS, Homes
from tests.serving import running


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Homes]:
    folder = tmp_path_factory.mktemp("connected")
    upgrade(f"sqlite:///{folder / 'catalog.sqlite3'}")
    settings = Settings(_env_file=None, data_dir=folder)
    embedded = spanseek.open(tmp_path_factory.mktemp("folders") / "calls.spanseek", encoder="hashing")
    with embedded, running(settings) as (_, http), spanseek.connect(str(http.base_url)) as connected:
        for home in (connected, embedded):
            home.collection("calls").add(CALLS, text="line", id="call", part="turn")
        yield Homes(connected, embedded)

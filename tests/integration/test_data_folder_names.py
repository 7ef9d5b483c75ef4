"""A named data folder is made by ``spanseek init-db`` alone, wherever the catalog is."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli
from app.cli.console import checked_store
from app.services import require_data_folder
from app.settings import Settings
from indexer.errors import CatalogNotInitialised


@pytest.fixture
def settings(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    """Settings with a data folder that is not there yet."""
    database_url = "" if backend == "sqlite" else request.getfixturevalue("url")
    return Settings(_env_file=None, data_dir=tmp_path / "misspelt", database_url=database_url)


@pytest.mark.parametrize("create", [False, True])
def test_a_misspelt_data_folder_is_refused_and_not_made(settings: Settings, create: bool) -> None:
    with pytest.raises(CatalogNotInitialised, match="misspelt") as refusal, checked_store(settings, create=create):
        pass
    assert "init-db" in refusal.value.hint
    assert not settings.data_dir.exists()


def test_init_db_makes_it(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANSEEK_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("SPANSEEK_DATABASE_URL", settings.database_url)
    result = CliRunner().invoke(cli, ["init-db"])
    assert result.exit_code == 0, result.output
    with checked_store(settings) as store:
        assert list(store.catalog.collections()) == []


def test_the_default_folder_may_be_new(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    default = Settings(_env_file=None, database_url=settings.database_url)
    require_data_folder(default, create=True)
    if settings.database_url:
        require_data_folder(default)  # a search of collections in the database needs no folder of its own
    else:
        with pytest.raises(CatalogNotInitialised):
            require_data_folder(default)

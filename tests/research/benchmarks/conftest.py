"""A small corpus for benchmarks, made once, with the encoder that needs no weights."""

import json
import random
from itertools import product
from pathlib import Path

import pytest

from app.settings import Settings
from research.benchmarks.case import Case
from research.benchmarks.prepare import Plan, make_cases

# So many that hardly any two spans are the same: ties would be decided by rounding errors.
_WORDS = ["".join(letters) for letters in product("bdfklmnprst", "aeiou", "gmnrs", "aeio")]


def write_source(path: Path, documents: int) -> Path:
    """Documents of three parts of 20 words each."""
    rng = random.Random(7)
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            parts = [{"text": " ".join(rng.choices(_WORDS, k=20)).capitalize()} for _ in range(3)]
            file.write(json.dumps({"id": f"d{number}", "parts": parts}) + "\n")
    return path


@pytest.fixture(scope="session")
def plain_settings() -> Settings:
    return Settings(_env_file=None, encoder="hashing")


@pytest.fixture(scope="session")
def cases(tmp_path_factory, plain_settings) -> list[Case]:
    """Ten documents in one segment, and the same and twenty more in segments of five documents."""
    folder = tmp_path_factory.mktemp("bench")
    source = str(write_source(folder / "source.ndjson", 45))
    one = list(make_cases(Plan(source, (600,), queries=8), plain_settings, folder / "one"))
    many = list(make_cases(Plan(source, (1800,), queries=8, segment_units=300), plain_settings, folder / "many"))
    return [*one, *many]


@pytest.fixture(scope="session")
def small(cases) -> Case:
    return cases[0]


@pytest.fixture(scope="session")
def segmented(cases) -> Case:
    return cases[1]

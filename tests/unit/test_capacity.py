"""Plans follow from the measured costs, and the page shows what the command says."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from app.capacity import MEASURED, plan
from app.cli import cli
from models.errors import InvalidInput

PAGE = (Path(__file__).parents[2] / "docs" / "capacity.md").read_text("utf-8")
FROM = 8_000_000


def told(*options: str) -> dict[str, object]:
    done = CliRunner().invoke(cli, ["plan", *options, "--json"])
    assert done.exit_code == 0, done.output
    answer: dict[str, object] = json.loads(done.output)
    return answer


@given(st.integers(1, 10**9), st.integers(1, 10**5), st.integers(1, 128))
def test_more_documents_never_take_less_and_more_cores_never_longer(documents: int, words: int, cores: int) -> None:
    one, more = (plan(count, words, cores=cores, candidates_from=FROM) for count in (documents, 2 * documents))
    assert (one.disk_bytes, one.memory_bytes, one.index_hours) <= (
        more.disk_bytes,
        more.memory_bytes,
        more.index_hours,
    )
    faster = plan(documents, words, cores=2 * cores, candidates_from=FROM)
    assert faster.index_hours == pytest.approx(one.index_hours / 2)
    assert faster.searches_a_second == pytest.approx(2 * one.searches_a_second)


@pytest.mark.parametrize(("units", "measured_ms"), [(440_453, 33), (4_960_065, 185)])
def test_a_search_takes_what_was_measured_within_a_third(units: int, measured_ms: float) -> None:
    alone = replace(MEASURED, units_a_word=1, second_look_ms=0)
    assert plan(units, 1, candidates_from=FROM, costs=alone).search_ms == pytest.approx(measured_ms, rel=1 / 3)


def test_a_cluster_meets_the_searches_with_one_server_to_spare() -> None:
    asked = plan(10_000, 300, cores=16, searches=120, candidates_from=FROM)
    assert asked.cluster is not None
    remaining = (asked.cluster.servers - 1) * asked.searches_a_second
    assert remaining >= 120 > remaining - asked.searches_a_second
    assert asked.cluster.memory_bytes == asked.cluster.servers * asked.memory_bytes


def test_a_plan_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        plan(0, 300, candidates_from=FROM)


def test_the_page_has_the_plans_of_the_command() -> None:
    rows = re.findall(
        r"^\| ([\d,]+) \| ([\d,]+) \| ([\d,.]+) GB \| ([\d,.]+) GB \| ([\d.]+) \| (\w+) \| ([\d,]+) ms \| ([\d.]+) \|$",
        PAGE,
        re.MULTILINE,
    )
    assert len(rows) == 4
    for documents, units, disk, memory, hours, engine, search_ms, rate in rows:
        answer = told("--documents", documents.replace(",", ""), "--words", "300", "--cores", "16")
        assert f"{answer['units']:,}" == units
        assert (f"{answer['disk_bytes'] / 1e9:,.1f}", f"{answer['memory_bytes'] / 1e9:,.1f}") == (disk, memory)
        assert (f"{answer['index_hours']:.1f}", answer["engine"]) == (hours, engine)
        assert (f"{answer['search_ms']:,.0f}", f"{answer['searches_a_second']:.1f}") == (search_ms, rate)
        assert "cluster" not in answer

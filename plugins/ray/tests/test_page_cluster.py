"""The view of a cluster, in a real browser, with the route's answers made here."""

import re
from itertools import starmap
from typing import Any

import pytest

from app.answers import json_values
from app.http.app import create_app
from app.settings import Settings
from spanseek_ray.routes import Actor, ClusterState
from tests.e2e.page.checks import no_sideways_scrolling, serious
from tests.e2e.page.conftest import window

pytestmark = pytest.mark.slow("a browser and a cluster")

ACTORS = [
    ("a-0", "10.0.0.7", "ready", 1, 0.012, 0.4),
    ("a-1", "10.0.0.7", "out", 0, 0.0, None),
    ("b-0", "10.0.0.8", "drained", 0, 0.0, None),
]


def actor(name: str, node: str, state: str, waiting: int, seconds: float, idle_s: float | None) -> dict[str, Any]:
    counts = {"segments": 12, "units": 1_234_567, "answered": 8123, "hedged": 3, "failed": 0}
    return {
        "name": name,
        "node": node,
        "state": state,
        "waiting": waiting,
        **counts,
        "seconds": seconds,
        "idle_s": idle_s,
    }


def state(lost: int = 0) -> dict[str, Any]:
    return {"executor": "ray", "unreachable_segments": lost, "actors": list(starmap(actor, ACTORS))}


def clustered(page, answer: dict[str, Any]) -> None:
    """A server whose segments are read by a cluster."""
    page.route("**/health/ready", lambda route: route.fulfill(json={"executor": {"name": answer["executor"]}}))
    page.route("**/admin/cluster", lambda route: route.fulfill(json=answer))


def test_the_answer_that_is_made_here_is_one_of_the_api():
    """The same fields as in the OpenAPI document, and the same values after a way through the answer's type."""
    schemas = create_app(Settings(_env_file=None)).openapi()["components"]["schemas"]
    assert set(state()) == set(schemas["ClusterState"]["properties"])
    assert set(state()["actors"][0]) == set(schemas["Actor"]["properties"])
    read = ClusterState("ray", 0, tuple(Actor(**one) for one in state()["actors"]))
    assert json_values(read) == state()
    said = schemas["Actor"]["properties"]["state"]["description"]
    assert all(f"`{name}`" in said for _, _, name, *_ in ACTORS)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_view_shows_machines_and_what_they_do(browser, address, colours):
    for width in (1280, 390):
        with window(browser, address, viewport={"width": width, "height": 900}, color_scheme=colours) as page:
            clustered(page, state(lost=2))
            page.goto("/?view=data&c=sample")
            page.get_by_role("link", name="Cluster").click()
            page.get_by_role("alert").get_by_text("2 segments cannot be reached").wait_for()
            page.get_by_text("1 of 3 processes answer.").wait_for()
            rows = page.get_by_role("region", name="Machines").locator("tbody tr").all_inner_texts()
            assert [re.split(r"\t", row)[:4] for row in rows] == [
                ["10.0.0.7", "1 answers, 1 does not answer", "24", "2,469,134"],
                ["10.0.0.8", "1 is emptied", "12", "1,234,567"],
            ]
            assert ["--undo" in row for row in rows] == [False, True]
            assert page.get_by_role("region", name="Processes").locator("tbody tr").count() == 3
            assert serious(page) == []
            assert no_sideways_scrolling(page)


def test_the_view_follows_the_cluster(desktop):
    clustered(desktop, state(lost=1))
    desktop.goto("/?view=cluster")
    desktop.get_by_text("1 segment cannot be reached").wait_for()
    desktop.unroute("**/admin/cluster")
    clustered(desktop, state())
    desktop.get_by_text("All that is stored can be searched.").wait_for()


def test_one_machine_has_no_view_of_a_cluster_and_says_how_to_have_one(desktop):
    with desktop.expect_response("**/health/ready"):
        desktop.goto("/?c=sample")
    assert desktop.get_by_role("link", name="Cluster").is_hidden()
    desktop.goto("/?view=cluster")
    desktop.get_by_text("This server reads its collections itself.").wait_for()
    assert serious(desktop) == []


def test_who_may_not_administer_everything_sees_no_link(desktop):
    clustered(desktop, state())
    desktop.unroute("**/admin/cluster")
    desktop.route("**/admin/cluster", lambda route: route.fulfill(status=403, json={"detail": "no"}))
    desktop.add_init_script("sessionStorage.setItem('spanseek-key', 'ssk_x');")
    desktop.route("**/collections", lambda route: route.fulfill(json={"collections": []}))
    with desktop.expect_response("**/admin/cluster"):
        desktop.goto("/?view=restore")
    assert desktop.get_by_role("link", name="Cluster").is_hidden()

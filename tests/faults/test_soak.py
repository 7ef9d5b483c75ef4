"""The short form of the load tests."""

import pytest

from tests.faults import soak


@pytest.mark.slow("load for a while")
@pytest.mark.timeout(900)
def test_overload_is_refused_and_what_is_admitted_is_quick() -> None:
    assert soak.overload(10)["statuses"][429]


@pytest.mark.slow("load for a while")
@pytest.mark.timeout(900)
def test_nothing_grows() -> None:
    assert set(soak.soak(20)["done"]) == {"search", "write", "delete", "upload", "job"}

"""A server warms up before anybody waits for it, and starts though something is missing."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pytest

from app.http.backend import Backend, Limits, Startup
from indexer.engine.executor import Executor
from indexer.errors import CatalogUnavailable
from models.encoders.base import Encoder
from models.encoders.hashing import HashingEncoder
from models.errors import BackboneMissing


class CountingEncoder(HashingEncoder):
    """Counts the windows it has read."""

    windows = 0

    def forward(self, batches: Iterable[Sequence[np.ndarray]]) -> Iterator[list[np.ndarray]]:
        for batch in batches:
            self.windows += len(batch)
            yield from super().forward([batch])


def backend(load_encoder: Callable[[], Encoder], warm_up_engine: Callable[[], None]) -> Backend:
    def unavailable(*_: object) -> None:
        raise CatalogUnavailable("There is no database.")

    return Backend(
        Startup(load_encoder, unavailable, warm_up_engine, Executor()),
        Limits(queue=1, deadline_s=1.0, write_deadline_s=1.0, batch=1),
    )


def test_the_encoder_reads_something_before_anybody_waits() -> None:
    encoder, warm = CountingEncoder(), []
    backend(lambda: encoder, lambda: warm.append(True)).warm_up()
    assert encoder.windows == 1
    assert warm == [True]


def test_without_an_encoder_the_engine_is_warmed_up_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    def missing() -> Encoder:
        raise BackboneMissing("There is no model.", hint="Install one.")

    warm: list[bool] = []
    backend(missing, lambda: warm.append(True)).warm_up()
    assert warm == [True]
    assert "There is no model. Install one." in caplog.text
    assert "There is no database." in caplog.text

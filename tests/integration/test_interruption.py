"""Long work has checkpoints closer than a second, and what ends it there leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.catalog.leases import lease
from indexer.indexing.maintenance import merge_segments, tidy
from indexer.indexing.merge_policy import FAN, everything
from indexer.nuggets.recipe import NAME as NUGGETS
from models.encoders.base import tokenize_units
from models.encoders.hashing import HashingEncoder
from models.encoders.registry import load_encoder
from models.interruption import Interrupted, checkpoint, interruptible, until_interrupted
from models.text.borders import border_codes
from models.text.units import split
from models.text.words import folded_units
from tests.workspace import Workspace, document

WORDS = 40_000
LONG = "Please cancel my plan. " * (WORDS // 4)


def counted(work: Callable[[], object]) -> int:
    """The number of checkpoints of some work."""
    number = 0

    def count() -> None:
        nonlocal number
        number += 1

    with interruptible(count):
        work()
    return number


class After:
    """Ends work at the checkpoint of this number."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Interrupted


def test_checkpoints_are_those_of_the_block() -> None:
    checkpoint()
    with interruptible(After(0)):
        with until_interrupted():
            checkpoint()
            pytest.fail("the block goes on")
        with pytest.raises(Interrupted):
            checkpoint()
    checkpoint()


def test_long_texts_are_read_with_checkpoints() -> None:
    """One for some ten thousand words, or a piece for the tokenizer: each takes milliseconds."""
    units = split(LONG)
    assert counted(lambda: split(LONG)) > WORDS / 20_000
    assert counted(lambda: split(LONG + "é")) > 2 * WORDS / 20_000
    assert counted(lambda: border_codes(LONG, units)) > WORDS / 4 / 5_000
    assert counted(lambda: folded_units(LONG, units)) > WORDS / 20_000
    encoder = load_encoder("slice")
    assert counted(lambda: encoder.tokenize([LONG])) >= len(LONG) / 65_536


@pytest.mark.parametrize("representations", [{}, {"nuggets": 0.5}, {"words": True}], ids=["units", "nuggets", "words"])
def test_a_document_that_is_interrupted_leaves_nothing(tmp_path: Path, representations: dict[str, float]) -> None:
    options = {"nugget_ratio": representations.get(NUGGETS), "words": "words" in representations}
    with Workspace(tmp_path / "data", **options) as workspace:  # type: ignore[arg-type]
        workspace.index([document("a", "Please cancel my plan.")])
        huge = document("huge", LONG)
        before = workspace.catalog.generation("c")
        for number in (0, 1, 7, 20):
            with interruptible(After(number)), pytest.raises(Interrupted):
                workspace.index([huge])
            assert workspace.catalog.generation("c") == before
            folder = workspace.store.folder(workspace.catalog.collection("c"))
            assert len(list(folder.iterdir())) == 1
        workspace.index([huge])
        assert workspace.catalog.collection("c").documents == 2


def test_batches_of_windows_have_a_checkpoint_each(tmp_path: Path) -> None:
    encoder = HashingEncoder()
    (joined,) = tokenize_units(encoder, [LONG])
    with Workspace(tmp_path / "data") as workspace:
        passes = len(joined.tokens) / encoder.batch_tokens
        assert counted(lambda: workspace.index([document("huge", LONG)])) > passes


def test_a_merge_that_is_interrupted_changes_nothing_and_tidying_leaves_it(tmp_path: Path) -> None:
    with Workspace(tmp_path / "data", words=True) as workspace:
        for number in range(FAN):
            workspace.index([document(f"{number}", f"Please cancel plan {number}.")], merge=False)
        with lease(workspace.catalog, "c") as held:
            before = workspace.catalog.live_generation("c")
            with interruptible(After(0)), pytest.raises(Interrupted):
                merge_segments(workspace.store, held, everything)
            assert workspace.catalog.generation("c") == before.number
            with interruptible(After(0)):
                assert tidy(workspace.store, held) is not None
            assert workspace.catalog.generation("c") == before.number
            assert workspace.folders() == workspace.live()
            tidy(workspace.store, held)
            assert len(workspace.live()) == 1
            assert len({hit.document_id for hit in workspace.search("cancel plan", "c")}) == FAN

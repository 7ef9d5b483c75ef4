"""Two spellings of what a recipe stores: by the names of representations, and by the older fields of some."""

from dataclasses import asdict
from typing import Any

import pytest

from app.collections.recipes import CollectionOptions
from app.recipes import RepresentationOptions, choices
from models.errors import InvalidInput


@pytest.mark.parametrize(
    ("representations", "aliases"),
    [
        ({"nuggets": {"ratio": 0.2}, "words": {}}, {"nugget_ratio": 0.2, "words": True}),
        ({"words": None, "nuggets": {"ratio": 0.1}}, {"words": False, "nugget_ratio": 0.1}),
        ({}, {}),
    ],
)
def test_both_spellings_say_the_same(representations: dict[str, Any], aliases: dict[str, Any]) -> None:
    by_name, by_alias = RepresentationOptions(representations=representations), RepresentationOptions(**aliases)
    both = RepresentationOptions(representations=representations, **aliases)
    assert by_name.chosen() == by_alias.chosen() == both.chosen() == representations


def test_a_name_without_options_does_not_contradict_a_value() -> None:
    assert RepresentationOptions(representations={"nuggets": {}}, nugget_ratio=0.2).chosen() == {
        "nuggets": {"ratio": 0.2}
    }


@pytest.mark.parametrize(
    ("representations", "aliases", "field"),
    [
        ({"nuggets": {"ratio": 0.2}}, {"nugget_ratio": 0.1}, "nugget_ratio"),
        ({"nuggets": None}, {"nugget_ratio": 0.1}, "nugget_ratio"),
        ({"words": {}}, {"words": False}, "words"),
        ({"words": None}, {"words": True}, "words"),
    ],
)
def test_spellings_that_differ_are_refused(
    representations: dict[str, Any], aliases: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput, match="say different things") as caught:
        RepresentationOptions(representations=representations, **aliases).chosen()
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("representations", "message", "hint", "field"),
    [
        ({"nugets": {}}, "no representation 'nugets'", "Did you mean nuggets? Known are ", "representations"),
        ({"x": {}}, "no representation 'x'", "Known are ", "representations"),
        ({"nuggets": {"ratio": 1.5}}, "1.5 is not above 0", "0.05 to 0.25", "representations.nuggets"),
        ({"nuggets": {"ratio": "a"}}, "ratio of nuggets is invalid", "", "representations.nuggets"),
        ({"nuggets": {"rate": 0.1}}, "nuggets has no option 'rate'", "It takes ratio.", "representations.nuggets"),
        ({"words": {"ratio": 0.1}}, "words has no option", "It takes none.", "representations.words"),
    ],
)
def test_what_cannot_be_is_refused(representations: dict[str, Any], message: str, hint: str, field: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        RepresentationOptions(representations=representations).chosen()
    assert hint in caught.value.hint
    assert caught.value.field == field


def test_choices_of_the_command_line() -> None:
    assert choices(["nuggets=0.1"], ["words"]) == {"nuggets": {"ratio": 0.1}, "words": None}
    assert choices(['nuggets={"ratio": 0.2}'], []) == {"nuggets": {"ratio": 0.2}}
    assert choices(["nuggets=much"], []) == {"nuggets": {"ratio": "much"}}  # which its representation refuses
    for wrong, unwanted in ((["words=1"], []), (["none"], []), ([], ["none"]), (["words"], ["words"])):
        with pytest.raises(InvalidInput):
            choices(wrong, unwanted)


def test_options_of_waiting_tasks_are_read() -> None:
    """Those of before version 0.3 have the older fields, with None for what was not said."""
    older = {
        "nugget_ratio": 0.2,
        "words": None,
        "store_text": None,
        "encoder": None,
    }
    assert CollectionOptions(**older, texts=None, as_trained=False).chosen() == {"nuggets": {"ratio": 0.2}}
    now = CollectionOptions("slice", representations={"words": None})
    assert CollectionOptions(**asdict(now)) == now

"""Random filter expressions, in their JSON form, and documents with metadata of all kinds."""

from random import Random
from typing import Any

from models.types import Document, Part

# One moment in five spellings, one beside it, and what is no date.
DATES = [
    "2025-01-01",
    "2025-01-01T00:00:00Z",
    "2025-01-01T01:00+01:00",
    "2025-01-01 00:00:00",
    "2025-01-01T00:00:00.000",
]
STRINGS = [*DATES, "2024-12-31T23:30:00-01:00", "2025-02-30", "a", "ab", "B", "é", "", "7"]
SCALARS = [*STRINGS, 0, 1, 1.0, -2.5, 7, 10**6, True, False, None]
NESTED = [{"b": 1}, {"b": {"c": "2025-01-01"}}, {"b": None}, {}]
LISTS = [[], ["a"], ["a", "B", 1], [1, 2.5], [None], [True], ["2025-01-01T00:00:00Z"], [["a"], {"b": 1}]]
KEYS = ["a", "day", "tags", "a.b", "a.b.c"]
WORDS = ["parcel", "late", "cancel", "my", "plan", "please"]


def metadata(random: Random) -> dict[str, Any]:
    """Metadata with some of the keys, each with a value of any kind."""
    values = [*SCALARS, *DATES, *LISTS, *NESTED, *NESTED]
    return {key: random.choice(values) for key in ("a", "day", "tags") if random.random() < 0.7}


def documents(random: Random, count: int) -> list[Document]:
    """Documents with up to three parts, in which every key has values of every kind."""
    inner = ["2025-01-01", "a", 7, True, ["a"]]
    every = [*SCALARS, *LISTS, *NESTED, *({"b": each} for each in inner), *({"b": {"c": each}} for each in inner)]
    rows = [dict.fromkeys(("a", "day", "tags"), value) for value in every]
    rows += [metadata(random) for _ in range(count)]
    of_parts = random.sample(rows, len(rows))
    return [
        Document(
            f"d{number:03d}",
            (Part(text(random), part), *(Part(text(random), metadata(random)) for _ in range(random.randint(0, 2)))),
            row,
        )
        for number, (row, part) in enumerate(zip(rows, of_parts, strict=True))
    ]


def text(random: Random) -> str:
    """A sentence."""
    return " ".join(random.choices(WORDS, k=random.randint(3, 8))) + "."


def tree(random: Random, depth: int = 3) -> dict[str, Any]:
    """A random expression."""
    kind = random.choice(["and", "or", "not", "compare"]) if depth else "compare"
    if kind == "not":
        return {"not": tree(random, depth - 1)}
    if kind != "compare":
        return {kind: [tree(random, depth - 1) for _ in range(random.randint(2, 3))]}
    return comparison(random)


def comparison(random: Random) -> dict[str, Any]:
    """A random comparison, which has a value that its operator can have."""
    key = random.choice([*KEYS, *(f"part.{key}" for key in KEYS), "document.id"])
    operators = ["=", "!=", "<", "<=", ">", ">=", "in", "contains", "contains any", "contains all", "starts with"]
    operator = random.choice([*operators, "exists", "is null"])
    if key == "document.id":
        operator = random.choice(["=", "!=", "in", "<", ">=", "starts with"])
    scalars = [f"d{random.randint(0, 90):03d}", "d0", "2025-01-01"] if key == "document.id" else SCALARS
    several = random.sample(scalars, random.randint(0, 3))
    one = random.choice([value for value in scalars if fits(operator, value)])
    value: Any = several if operator in ("in", "contains any", "contains all") else one
    return {"key": key, "op": operator} | ({} if operator in ("exists", "is null") else {"value": value})


def fits(operator: str, value: Any) -> bool:
    """Whether an operator takes a value."""
    if operator == "starts with":
        return isinstance(value, str)
    return operator not in ("<", "<=", ">", ">=") or (not isinstance(value, bool) and value is not None)

"""Naive oracles: loops nobody can get wrong. Slow on purpose; they share no code with what they judge."""

import json
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize

Span = tuple[int, int]
# Under this share of the lengths that went into a sum, the sum is rounding error: its direction means nothing.
CANCELLED = 1e-4


def all_spans(units: int, shortest: int, longest: int) -> list[Span]:
    """Every span of a part of so many units."""
    return [(i, j) for i in range(units) for j in range(i + 1, units + 1) if shortest <= j - i <= longest]


def span_sum(vectors: np.ndarray, span: Span) -> np.ndarray:
    """The sum of the vectors of a span, one addition after the other, in double precision."""
    total = np.zeros(vectors.shape[1], np.float64)
    for unit in range(*span):
        total = total + vectors[unit].astype(np.float64)
    return total


def cancels(vectors: np.ndarray, span: Span) -> bool:
    """Whether the vectors of a span add up to nothing."""
    mass = sum(float(vectors[unit].astype(np.float64) @ vectors[unit].astype(np.float64)) for unit in range(*span))
    total = span_sum(vectors, span)
    return float(total @ total) <= CANCELLED**2 * mass


def cosine(query: np.ndarray, vectors: np.ndarray, span: Span) -> float:
    """Cosine of a query with a span; 0 where either has no direction."""
    total, query = span_sum(vectors, span), query.astype(np.float64)
    lengths = math.sqrt(float(total @ total)) * math.sqrt(float(query @ query))
    return float(total @ query) / lengths if lengths > 0 else 0.0


def greedy(spans: Sequence[Span]) -> list[int]:
    """Positions of the spans, given best first, that share no unit with a better survivor."""
    survivors: list[int] = []
    for position, (start, end) in enumerate(spans):
        if all(end <= spans[other][0] or spans[other][1] <= start for other in survivors):
            survivors.append(position)
    return survivors


@dataclass(frozen=True)
class RefPart:
    """The stored (dequantised) vectors of a part, its units' characters in the document, and its metadata."""

    vectors: np.ndarray
    characters: list[Span]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    # For every unit the strengths of the borders of spans that start at it, and that end before it; segments of before
    # version 0.3 store none.
    borders: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True)
class RefScore:
    """The parameters of the span score, and the units of the query; 0 where they are not known."""

    query_units: int
    discount: float
    start: Sequence[float]
    end: Sequence[float]
    crossing: float = 0.0


SENTENCE_BORDER, PART_BORDER = 2, 5


def span_terms(part: RefPart, span: Span, score: RefScore) -> float:
    """What the span score adds to a cosine: for its length, the borders around it, and sentence ends inside."""
    shorter = math.log(score.query_units / (span[1] - span[0])) if score.query_units else 0.0
    before = after = 0
    if part.borders:
        before = part.borders[span[0]][0]
        after = part.borders[span[1]][1] if span[1] < len(part.borders) else PART_BORDER
    inside = part.borders[span[0] + 1 : span[1]]
    crossing = score.crossing if any(min(border) >= SENTENCE_BORDER for border in inside) else 0.0
    # Added in the engine's order, so that sums are equal to the last bit.
    return -score.discount * max(0.0, shorter) + (score.start[before] + score.end[after]) + crossing


@dataclass(frozen=True)
class RefDocument:
    """A live document. Deleted ones are simply not there."""

    id: str
    parts: list[RefPart]
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RefHit:
    """A wanted span: what it scores, and where it lies in units and characters of its document."""

    cosine: float
    document_id: str
    units: Span
    characters: Span
    part: int


# Figures to take instead of the naive cosines of some spans of a part.
Score = Callable[[np.ndarray, np.ndarray, list[Span]], list[float]]


def part_hits(
    part: RefPart,
    query: np.ndarray,
    shortest: int,
    longest: int,
    score: Score | None = None,
    span_score: RefScore | None = None,
) -> list[tuple[float, Span]]:
    """Every span of a part that has a direction, best first; of equals the first, of these the shortest."""
    vectors, query64 = part.vectors.astype(np.float64), query.astype(np.float64)
    found: list[tuple[float, Span]] = []
    for start in range(len(vectors)):
        total, mass = np.zeros(vectors.shape[1]), 0.0
        for end in range(start + 1, min(start + longest, len(vectors)) + 1):
            total, mass = total + vectors[end - 1], mass + float(vectors[end - 1] @ vectors[end - 1])
            square = float(total @ total)
            if end - start >= shortest and square > CANCELLED**2 * mass:
                found.append((float(total @ query64) / math.sqrt(square), (start, end)))
    if score is not None:
        spans = [span for _, span in found]
        found = list(zip(score(query, part.vectors, spans), spans, strict=True))
    if span_score is not None:
        found = [(value + span_terms(part, span, span_score), span) for value, span in found]
    return sorted(found, key=lambda item: (-item[0], item[1]))


def has_all(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """True if metadata has all the wanted values, or lists that hold them; JSON has one kind of number."""
    return all(key in metadata and _holds(metadata[key], value) for key, value in wanted.items())


def _holds(stored: object, value: object) -> bool:
    values = [stored, *stored] if isinstance(stored, list) else [stored]
    return any(same_json(one, value) or _same_number(one, value) for one in values)


def _same_number(one: object, other: object) -> bool:
    numbers = [value for value in (one, other) if isinstance(value, int | float) and not isinstance(value, bool)]
    return len(numbers) == 2 and numbers[0] == numbers[1] and abs(numbers[0]) < 2**53


def same_json(one: object, other: object) -> bool:
    """Equality of JSON values, where Python would have it that ``1 == True == 1.0``."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same_json(a, b) for a, b in zip(one, other, strict=True))
    return type(one) is type(other) and one == other


def hits(
    documents: Sequence[RefDocument],
    query: np.ndarray,
    bounds: Span,
    *,
    top_k: int = 10,
    floor: float | None = None,
    group_by: str = "span",
    document_filter: Mapping[str, Any] | None = None,
    part_filter: Mapping[str, Any] | None = None,
    score: Score | None = None,
    span_score: RefScore | None = None,
) -> list[RefHit]:
    """The wanted spans of a whole collection, in order: score falling, document id, start."""
    found: list[RefHit] = []
    for document in documents:
        if not has_all(document.metadata, document_filter or {}):
            continue
        in_document: list[RefHit] = []
        first = 0
        for number, part in enumerate(document.parts):
            if has_all(part.metadata, part_filter or {}):
                ranked = part_hits(part, query, *bounds, score, span_score)
                ranked = [item for item in ranked if floor is None or item[0] >= floor]
                kept = greedy([span for _, span in ranked]) if group_by == "span" else list(range(len(ranked)))[:1]
                in_document += [_hit(document, number, first, *ranked[position]) for position in kept]
            first += len(part.vectors)
        in_document.sort(key=_order)
        found += in_document[:1] if group_by == "document" else in_document
    return sorted(found, key=_order)[:top_k]


def _hit(document: RefDocument, number: int, first: int, value: float, span: Span) -> RefHit:
    characters = document.parts[number].characters
    covered = (characters[span[0]][0], characters[span[1] - 1][1])
    return RefHit(value, document.id, (first + span[0], first + span[1]), covered, number)


def _order(hit: RefHit) -> tuple[float, str, int]:
    return -hit.cosine, hit.document_id, hit.characters[0]


def pooled(units: Sequence[Span], tokens: Sequence[Span], vectors: np.ndarray) -> np.ndarray:
    """Unit vectors by character overlap: a token gives every unit the share of its covered characters there."""
    found = np.zeros((len(units), vectors.shape[1]), np.float64)
    for token, (start, end) in enumerate(tokens):
        owners = [unit for at in range(start, end) for unit, (a, b) in enumerate(units) if a <= at < b]
        for unit in owners:
            found[unit] += vectors[token].astype(np.float64) / len(owners)
    return found


def windows_cover(kept: Sequence[Span], units: int) -> bool:
    """Whether every unit is kept by exactly one window, in order."""
    return [unit for window in kept for unit in range(*window)] == list(range(units))


def isotonic_steps(x: Sequence[float], y: Sequence[float]) -> list[float]:
    """What isotonic regression says at every x: of all left ends the largest of the smallest mean over right ends."""
    ordered = sorted(set(x))

    def mean(first: int, last: int) -> float:
        within = [one for at, one in zip(x, y, strict=True) if ordered[first] <= at <= ordered[last]]
        return sum(within) / len(within)

    steps = [
        max(min(mean(first, last) for last in range(n, len(ordered))) for first in range(n + 1))
        for n in range(len(ordered))
    ]
    return [steps[ordered.index(at)] for at in x]


def maxsim(queries: np.ndarray, vectors: np.ndarray) -> tuple[float, list[int]]:
    """The mean over query vectors of the best cosine with any vector, and which that is; of equals the first."""
    total, matches = 0.0, []
    for query in queries.astype(np.float64):
        cosines = [_cosine_of(query, vector.astype(np.float64)) for vector in vectors]
        best = max(cosines)
        total += best
        matches.append(cosines.index(best))
    return total / len(queries), matches


def _cosine_of(one: np.ndarray, other: np.ndarray) -> float:
    lengths = math.sqrt(float(one @ one)) * math.sqrt(float(other @ other))
    return float(one @ other) / lengths if lengths > 0 else 0.0


@dataclass(frozen=True)
class RefNuggets:
    """A live document's stored nuggets, by parts."""

    id: str
    parts: list[tuple[np.ndarray, Mapping[str, Any]]]
    metadata: Mapping[str, Any] = field(default_factory=dict)


def document_hits(
    documents: Sequence[RefNuggets],
    queries: np.ndarray,
    *,
    top_k: int = 10,
    floor: float | None = None,
    document_filter: Mapping[str, Any] | None = None,
    part_filter: Mapping[str, Any] | None = None,
) -> list[tuple[float, str]]:
    """MaxSim of every document that has a nugget in the parts that pass, best first: cosine falling, document id."""
    found = []
    for document in documents:
        wanted = has_all(document.metadata, document_filter or {})
        kept = [
            vector for part, told in document.parts if wanted and has_all(told, part_filter or {}) for vector in part
        ]
        if kept:
            found.append((maxsim(queries, np.stack(kept))[0], document.id))
    found = [hit for hit in found if floor is None or hit[0] >= floor]
    return sorted(found, key=lambda hit: (-hit[0], hit[1]))[:top_k]


def folded(unit: str) -> str:
    """The folded word of a unit; empty if it has no letter, digit or symbol."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", unit).casefold())
    for apostrophe in "\u2018\u2019\u02bc":
        text = text.replace(apostrophe, "'")
    for number in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)):
        text = text.replace(chr(number), "")
    text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    kinds = [unicodedata.category(c) for c in text]
    words = [k.startswith(("L", "N")) or k in ("Sm", "Sc", "So") for k in kinds]
    if True not in words:
        return ""
    while not words[0]:
        text, kinds, words = text[1:], kinds[1:], words[1:]
    while not (words[-1] or (kinds[-1].startswith("M") and all(k.startswith("M") for k in kinds[_last(words) + 1 :]))):
        text, kinds, words = text[:-1], kinds[:-1], words[:-1]
    return text


def _last(words: Sequence[bool]) -> int:
    return max(number for number, is_word in enumerate(words) if is_word)


def occurrences(units: Sequence[str], words: Sequence[str]) -> list[Span]:
    """Every span of a part that begins and ends with a word and whose words are these, from its folded units."""
    spans = [(i, j) for i in range(len(units)) for j in range(i + 1, len(units) + 1) if units[i] and units[j - 1]]
    return [(i, j) for i, j in spans if [unit for unit in units[i:j] if unit] == list(words)]


def bm25_shares(sentences: Sequence[Sequence[str]], query: Sequence[str], k1: float, b: float) -> list[float]:
    """BM25 of sentences of folded words, as a share of the score of the query's own; see ``indexer.words.bm25``."""
    mean = sum(map(len, sentences)) / len(sentences)

    def score(words: Sequence[str]) -> float:
        total = 0.0
        for word in dict.fromkeys(query):
            holding = sum(word in sentence for sentence in sentences)
            weight = math.log(1 + (len(sentences) - holding + 0.5) / (holding + 0.5))
            count = min(list(words).count(word), list(query).count(word))
            norm = k1 * (1 - b + b * max(len(words), len(query)) / mean)
            total += weight * count * (k1 + 1) / (count + norm)
        return total

    return [score(sentence) / score(query) for sentence in sentences]


def codebook_distance(one: np.ndarray, other: np.ndarray, penalty: float) -> float:
    """SC of eq. 5 of the facets paper: what each leaves of the other, with the coefficients of scipy's solver."""
    return sum(
        float(((_coefficients(facets, word, penalty) @ facets - word) ** 2).sum())
        for facets, words in ((one.astype(float), other.astype(float)), (other.astype(float), one.astype(float)))
        for word in words
    )


def _coefficients(facets: np.ndarray, word: np.ndarray, penalty: float) -> np.ndarray:
    """The coefficients of eq. 1: from 0 to 1, with an L1 penalty."""
    solved = minimize(
        lambda x: float(((x @ facets - word) ** 2).sum() + penalty * x.sum()),
        np.full(len(facets), 0.5),
        jac=lambda x: 2 * facets @ (x @ facets - word) + penalty,
        bounds=[(0, 1)] * len(facets),
        method="SLSQP",  # L-BFGS-B stops too early where facets are nearly parallel
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    return np.asarray(solved.x)


def nearness(one: np.ndarray, other: np.ndarray) -> float:
    """The mean, over the facets of each, of the cosine with the nearest facet of the other; of both together."""
    sides = (
        [max(float(np.dot(a, b)) for b in other) for a in one],
        [max(float(np.dot(a, b)) for a in one) for b in other],
    )
    return sum(sum(side) / len(side) for side in sides)


def importance(words: np.ndarray, codebook: np.ndarray) -> list[float]:
    """Eq. 6 of the facets paper: for every word, what its cosines with the facets that are above 0 add up to."""
    weights = []
    for word in words:
        total = 0.0
        for facet in codebook:
            total += max(0.0, sum(float(a) * float(b) for a, b in zip(word, facet, strict=True)))
        weights.append(total)
    return weights


def unit_weights(text: str, units: Sequence[Span], weights: Mapping[str, float]) -> list[float]:
    """The mean weight of the known words that share a character with a unit, of mean 1; 1 for units without one."""
    words: list[tuple[str, set[int]]] = []
    inside = False
    origins = [at for at, large in enumerate(text) for _ in large.lower()]
    for letter, at in zip(text.lower(), origins, strict=True):
        if letter.isalnum():
            word, places = words.pop() if inside else ("", set())
            words.append((word + letter, places | {at}))
        inside = letter.isalnum()
    touching = [
        [weights[word] for word, places in words if word in weights and places & set(range(start, end))]
        for start, end in units
    ]
    means = [sum(each) / len(each) for each in touching if each]
    mean = sum(means) / len(means) if means else 0.0
    return [sum(each) / len(each) / mean if each and mean else 1.0 for each in touching]


def cover(facets: np.ndarray, words: np.ndarray, weights: Sequence[float], count: int) -> list[int]:
    """Eq. 7 of the facets paper: one sentence after the other, each the one with which the sum is largest."""

    def covered(chosen: Sequence[int]) -> float:
        rows = [facet for number in chosen for facet in facets[number]]
        return sum(
            weight * max([-1.0, *(float(np.dot(word, row)) for row in rows)])
            for word, weight in zip(words, weights, strict=True)
        )

    chosen: list[int] = []
    while len(chosen) < min(count, len(facets)):
        free = [number for number in range(len(facets)) if number not in chosen]
        totals = [covered([*chosen, number]) for number in free]
        chosen.append(free[next(at for at, total in enumerate(totals) if total >= max(totals) - 1e-9)])
    return chosen


Values = Mapping[str, Any]


def json_key(value: Any) -> str:
    """One spelling for values that JSON does not tell apart: `1` and `1.0`, but not `true`.

    >>> json_key(1.0), json_key(True), json_key("1")
    ('1', 'true', '"1"')
    """
    is_whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if is_whole else value, sort_keys=True)


def metadata_counts(
    documents: Sequence[tuple[Values, Sequence[Values]]], document_filter: Values, part_filter: Values
) -> dict[tuple[str, str], dict[str, int]]:
    """For every key of documents and of their parts, the documents by value that pass the filter with it."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for own, parts in documents:
        fields = {("document", key) for key in own} | {("part", key) for part in parts for key in part}
        for level, key in fields:
            rest = {
                level: dict(conditions) for level, conditions in (("document", document_filter), ("part", part_filter))
            }
            rest[level].pop(key, None)
            passing = [part for part in parts if _has(part, rest["part"])]
            if _has(own, rest["document"]) and passing:
                owners = [own] if level == "document" else passing
                values = counts.setdefault((level, key), {})
                for spelling in {json_key(value) for owner in owners if key in owner for value in _values(owner[key])}:
                    values[spelling] = values.get(spelling, 0) + 1
    return {field: values for field, values in counts.items() if values}


def _has(metadata: Values, conditions: Values) -> bool:
    return all(
        key in metadata and json_key(value) in [json_key(metadata[key]), *map(json_key, _values(metadata[key]))]
        for key, value in conditions.items()
    )


def _values(value: Any) -> list[Any]:
    """The elements of a list, or the value itself."""
    return value if isinstance(value, list) else [value]


_TEENS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"


def spell(number: int, hyphen: str = "-", conjunction: str = " and ") -> str:
    """A whole number below 10^12 in English words: 121 is "one hundred and twenty-one"."""
    if number < 20:
        return _TEENS.split()[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS.split()[tens - 2] + (hyphen + spell(ones) if ones else "")
    for scale, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= scale:
            above, below = divmod(number, scale)
            joint = conjunction if below < 100 else " "
            rest = joint + spell(below, hyphen, conjunction) if below else ""
            return f"{spell(above, hyphen, conjunction)} {name}{rest}"
    raise AssertionError(number)


def passes(
    expression: Mapping[str, Any], id: str, metadata: Values, part: Values | None = None, parts: Sequence[Values] = ()
) -> bool:
    """Whether a filter, in its JSON form, is true of a part of a document; or of the document: of one of its parts."""
    if part is None and any(key.startswith("part.") for key in _keys_of(expression)):
        return any(passes(expression, id, metadata, each) for each in parts)
    for word, join in (("and", all), ("or", any)):
        if word in expression:
            return join(passes(each, id, metadata, part) for each in expression[word])
    if "not" in expression:
        return not passes(expression["not"], id, metadata, part)
    key = expression["key"]
    if key == "document.id":
        return _compares(expression["op"], id, expression.get("value"), dates=False)
    value: Any = part if key.startswith("part.") else metadata
    for step in key.removeprefix("part.").split("."):
        if not isinstance(value, Mapping) or step not in value:
            return False
        value = value[step]
    return _compares(expression["op"], value, expression.get("value"))


def _keys_of(expression: Mapping[str, Any]) -> list[str]:
    if "key" in expression:
        return [expression["key"]]
    inner = [expression["not"]] if "not" in expression else expression.get("and") or expression.get("or") or []
    return [key for each in inner for key in _keys_of(each)]


def _compares(operator: str, value: Any, wanted: Any, dates: bool = True) -> bool:
    def same(one: Any, other: Any) -> bool:
        moments = [moment(each) if dates and isinstance(each, str) else None for each in (one, other)]
        return json_key(one) == json_key(other) or (None not in moments and moments[0] == moments[1])

    def below(one: Any, other: Any) -> bool | None:
        if isinstance(one, bool) or isinstance(other, bool):
            return None
        if isinstance(one, int | float) and isinstance(other, int | float):
            return one < other
        if not isinstance(one, str) or not isinstance(other, str):
            return None
        if not dates or moment(other) is None:
            return one < other
        return None if moment(one) is None else moment(one) < moment(other)

    def ordered(each: Any) -> bool:
        under = below(each, wanted)
        is_equal = under is False and (each == wanted or same(each, wanted))
        return (
            under is not None
            and {
                "<": under,
                "<=": under or is_equal,
                ">": not under and not is_equal,
                ">=": not under,
            }[operator]
        )

    elements = [each for each in _values(value) if not isinstance(each, Mapping | list)]
    match operator:
        case "exists":
            return True
        case "is null":
            return value is None
        case "=":
            return any(same(each, wanted) for each in elements)
        case "!=":
            return not any(same(each, wanted) for each in elements)
        case "in":
            return any(same(each, one) for each in elements for one in wanted)
        case "contains":
            return isinstance(value, list) and any(same(each, wanted) for each in elements)
        case "contains any":
            return isinstance(value, list) and any(same(each, one) for each in elements for one in wanted)
        case "contains all":
            return isinstance(value, list) and all(any(same(each, one) for each in elements) for one in wanted)
        case "starts with":
            return any(isinstance(each, str) and each.startswith(wanted) for each in elements)
    return any(ordered(each) for each in elements)


@cache
def moment(text: str) -> float | None:
    """The seconds since 1970 of a date, or of a date and a time with or without an offset; None for other text."""
    for form in ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M%z", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f"):
        try:
            read = datetime.strptime(text, form)
        except ValueError:
            continue
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    return None


MISSING = object()


def value_at(metadata: Values, keys: Sequence[str]) -> Any:
    """What keys lead to; MISSING where they lead nowhere."""
    value: Any = metadata
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return MISSING
        value = value[key]
    return value


def comes_before(one: Any, other: Any, descending: bool, dates: bool = True) -> bool:
    """True if a value stands before another when sorted: by kind, then by size; what has no order comes last."""
    ranks = [_rank(value, descending, dates) for value in (one, other)]
    if ranks[0] is None or ranks[1] is None:
        return ranks[0] is not None and ranks[1] is None
    return ranks[1] < ranks[0] if descending else ranks[0] < ranks[1]


def _rank(value: Any, descending: bool, dates: bool) -> tuple[str, Any] | None:
    if isinstance(value, list):
        ranks = [rank for each in value if not isinstance(each, list) and (rank := _rank(each, descending, dates))]
        ranks.sort()
        return None if not ranks else ranks[-1 if descending else 0]
    if isinstance(value, bool):
        return "a boolean", value
    if isinstance(value, int | float):
        return "b number", float(value)
    if isinstance(value, str):
        at = moment(value) if dates else None
        return ("d string", value) if at is None else ("c date", at)
    return None


def insertion_sorted(items: Sequence[Any], before: Callable[[Any, Any], bool]) -> list[Any]:
    """Items in order, equal ones as they were."""
    placed: list[Any] = []
    for item in items:
        place = len(placed)
        while place and before(item, placed[place - 1]):
            place -= 1
        placed.insert(place, item)
    return placed


def first_with(items: Sequence[Any], groups: Sequence[Any], most: int) -> list[tuple[Any, int]]:
    """At most so many items of each group, the first ones, with the size of the group; None is no group."""
    kept = []
    for place, (item, group) in enumerate(zip(items, groups, strict=True)):
        if group is None:
            kept.append((item, 1))
        elif groups[:place].count(group) < most:
            kept.append((item, groups.count(group)))
    return kept


def periods(value: Any, period: str) -> set[str]:
    """The first days of the periods in which the dates of a value lie."""
    days = set()
    for each in value if isinstance(value, list) else [value]:
        at = moment(each) if isinstance(each, str) else None
        if at is not None:
            day = datetime.fromtimestamp(at, UTC).date()
            while (period == "week" and day.isoweekday() != 1) or (period == "month" and day.day != 1):
                day -= timedelta(days=1)
            days.add(day.isoformat())
    return days


def ranges(value: Any, borders: Sequence[float]) -> set[int]:
    """The numbers of the ranges in which the numbers of a value lie."""
    edges = [-math.inf, *borders, math.inf]
    members = value if isinstance(value, list) else [value]
    numbers = [each for each in members if isinstance(each, int | float) and not isinstance(each, bool)]
    return {place for place in range(len(edges) - 1) for each in numbers if edges[place] <= each < edges[place + 1]}

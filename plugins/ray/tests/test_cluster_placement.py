"""Segments are placed evenly, alike by every front, and only the share of a member that comes or goes moves."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from spanseek_ray.placement import ranked

members = st.lists(st.text("abcdef0123", min_size=1, max_size=4), min_size=2, max_size=8, unique=True).map(tuple)
segments = st.text("0123456789abcdef", min_size=1, max_size=8)


@given(members, segments, st.randoms())
def test_the_order_of_members_does_not_matter(members, segment, random) -> None:
    shuffled = tuple(random.sample(members, len(members)))
    assert ranked(segment, shuffled) == ranked(segment, members)
    assert sorted(ranked(segment, members)) == sorted(members)


@given(members, segments, st.data())
def test_without_a_member_the_others_keep_their_order(members, segment, data) -> None:
    gone = data.draw(st.sampled_from(members))
    rest = tuple(member for member in members if member != gone)
    assert ranked(segment, rest) == tuple(member for member in ranked(segment, members) if member != gone)


def test_a_member_that_joins_takes_over_its_share_and_nothing_else_moves() -> None:
    names = tuple(f"actor-{number}" for number in range(9))
    keys = [f"{number:064x}" for number in range(9_000)]
    before = {key: ranked(key, names[:8])[0] for key in keys}
    after = {key: ranked(key, names)[0] for key in keys}
    moved = {key for key in keys if before[key] != after[key]}
    assert {after[key] for key in moved} == {"actor-8"}
    held = Counter(after.values())
    assert all(abs(held[name] - 1_000) < 150 for name in names)

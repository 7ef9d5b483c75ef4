"""The view of a whole document, in a real browser."""

import json

import pytest

HIT = {
    "document_id": "d",
    "text": "",
    "raw": 0.5,
    "score": 0.5,
    "mode": "best_span",
    "rank": 1,
    "metadata": {"kind": "mail"},
}


def show(page, text: str, spans, counts=None):
    """Open the first hit of a document; spans are its hits, counts what a preview answers."""
    hits = [HIT | {"start": start, "end": end, "text": text[start:end]} for start, end in spans]
    page.route("**/search", lambda route: route.fulfill(json={"hits": hits}))
    page.route("**/documents/d?*", lambda route: route.fulfill(json={"id": "d", "text": text}))
    if counts is None:
        page.route("**/preview", lambda route: route.fulfill(status=403, json={"detail": "no"}))
    else:
        scores = {"documents_above": [1] * 101, "histogram": [0] * 100}
        page.route("**/preview", lambda route: route.fulfill(json={"phrases": [scores | counts]}))
    page.goto("/?c=sample&q=stop")
    page.locator(".card").first.wait_for()
    page.get_by_role("button", name="Document", exact=True).first.click()
    page.locator("dialog .block").first.wait_for(state="attached")


def test_blocks_end_at_lines_or_words(desktop):
    desktop.goto("/docs")
    texts = ["word " * 5000, "x" * 30_000, "😀" * 9000, "a line of words\n" * 2000, "", f"{'a' * 3990} {'b' * 3000} c"]
    hits = [{"start": 3000, "end": 9000}, {"start": 8990, "end": 8995}, {"start": 14_000, "end": 14_010}]
    blocks = desktop.evaluate(
        """async ([texts, hits]) => {
          const path = document.querySelector('script[type=module]').src.replace('main.js', 'document.js');
          const { blocksOf } = await import(path);
          const of = (text, hits) => [...blocksOf(text, hits)].map((block) => text.slice(block.start, block.end));
          return [...texts.map((text) => of(text, [])), of(texts[0], hits)];
        }""",
        [texts, hits],
    )
    for text, of_text in zip([*texts, texts[0]], blocks, strict=True):
        assert "".join(of_text) == text
        assert all(0 < len(block.encode("utf-16-le")) // 2 <= 9010 for block in of_text)
    assert all(block.endswith(" ") for block in blocks[0] + blocks[-1])
    assert all(block.endswith("\n") for block in blocks[3])
    assert [len(block) for block in blocks[5]] == [6992, 1]
    assert len(blocks[-1][0]) == 9000


@pytest.mark.parametrize("spans", [[(4, 20), (4, 9), (10, 30), (40, 45)]])
def test_overlapping_hits_have_one_order(desktop, spans):
    text = "It was late again, and nobody answered the phone at all."
    show(desktop, text, spans)
    desktop.get_by_text("Hit 2 of 4", exact=True).wait_for()
    desktop.keyboard.press("k")
    said = []
    for number in range(1, 5):
        desktop.get_by_text(f"Hit {number} of 4", exact=True).wait_for()
        said.append("".join(desktop.locator("dialog mark.current").all_inner_texts()))
        desktop.keyboard.press("j")
    assert said == [text[start:end] for start, end in sorted(spans)]
    assert "".join(desktop.locator("dialog .block").all_inner_texts()) == text
    assert desktop.locator("dialog .strip i").count() == 4


def test_hits_beyond_the_best_thousand_are_counted(desktop):
    text = "stop " * 3000
    counts = {"with_spans": 1, "spans_above": [None] * 20 + [3000] * 81}
    spans = [(5 * number, 5 * number + 4) for number in range(1000)]
    page = desktop
    page.add_init_script("history.replaceState(null, '', location.href + '&t=0.5')")
    show(page, text, spans, counts)
    page.get_by_text("The 1,000 best of 3,000 hits are marked.").wait_for()
    assert page.locator("dialog mark").count() == 1000


def test_without_counts_the_page_says_which_hits_are_not_marked(desktop):
    show(desktop, "stop " * 3000, [(5 * number, 5 * number + 4) for number in range(1000)])
    desktop.get_by_text("Others that score less than 0.50 are not").wait_for()


def test_other_documents_do_not_take_the_places_of_a_documents_hits(desktop):
    requests = []
    desktop.on("request", lambda sent: sent.url.endswith("/search") and requests.append(json.loads(sent.post_data)))
    show(desktop, "stop it", [(0, 4)])
    assert requests[-1]["filter"] == {"document": {"kind": "mail"}}


def test_restored_hits_say_so(desktop):
    """A collection without texts counts code points alone: the page asks again."""
    said = HIT | {"start": 0, "end": 4, "text": "stop", "restored": True, "confidence": 0.87}
    units = []

    def answer(route):
        units.append(route.request.post_data_json["offset_unit"])
        if units[-1] == "utf16":
            route.fulfill(status=409, json={"code": "text_not_stored", "detail": "no"})
        else:
            route.fulfill(json={"hits": [said]})

    desktop.route("**/search", answer)
    desktop.goto("/?c=sample&q=stop")
    desktop.locator(".card").get_by_text("restored, confidence 0.87").wait_for()
    assert units[:2] == ["utf16", "codepoint"]

"""The view of a whole document, in a real browser."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.e2e.page.checks import serious, settle

pytestmark = pytest.mark.ci("a browser")

HIT = {
    "document_id": "d",
    "text": "",
    "raw": 0.5,
    "score": 0.5,
    "mode": "best_span",
    "rank": 1,
    "metadata": {"kind": "mail"},
}


def show(page, text: str, spans, threshold: str = "0.4"):
    """Open the first hit of a document; spans are its hits, whose score is above the usual threshold."""
    hits = [HIT | {"start": start, "end": end, "text": text[start:end]} for start, end in spans]
    page.route("**/search", lambda route: route.fulfill(json={"hits": hits}))
    page.route("**/documents/d?*", lambda route: route.fulfill(json={"id": "d", "text": text}))
    page.route("**/preview", lambda route: route.fulfill(status=403, json={"detail": "no"}))
    page.goto(f"/?c=sample&q=stop&t={threshold}")
    page.locator(".card").first.wait_for()
    page.locator(".card .said").first.click()
    page.locator(".pane .block").first.wait_for(state="attached")


def test_blocks_end_at_lines_or_words(desktop):
    desktop.goto("/docs")
    texts = ["word " * 5000, "x" * 30_000, "😀" * 9000, "a line of words\n" * 2000, "", f"{'a' * 3990} {'b' * 3000} c"]
    hits = [{"start": 3000, "end": 9000}, {"start": 8990, "end": 8995}, {"start": 14_000, "end": 14_010}]
    blocks = desktop.evaluate(
        """async ([texts, hits]) => {
          const path = document.querySelector('script[type=module]').src.replace('main.js', 'marks.js');
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
    desktop.get_by_text("2 of 4 marks", exact=True).wait_for()
    desktop.keyboard.press("k")
    said = []
    for number in range(1, 5):
        desktop.get_by_text(f"{number} of 4 marks", exact=True).wait_for()
        said.append("".join(desktop.locator(".pane mark.current").all_inner_texts()))
        desktop.keyboard.press("j")
    assert said == [text[start:end] for start, end in sorted(spans)]
    assert "".join(desktop.locator(".pane .block").all_inner_texts()) == text
    expect(desktop.locator(".pane .strip i")).to_have_count(4)


def test_where_nothing_judges_hits_the_opened_one_alone_is_marked(desktop):
    """Without a second look, a threshold and figures of unrelated text, "ok" is not known to say anything."""
    show(desktop, "hi, stop it, ok", [(4, 8), (0, 2), (13, 15)], threshold="")
    pane = desktop.locator(".pane")
    pane.get_by_text("1 of 1 mark", exact=True).wait_for()
    expect(pane.locator("mark")).to_have_text(["stop"], use_inner_text=True)
    pane.get_by_role("button", name="2 weaker").click()
    pane.get_by_text("2 of 3 marks", exact=True).wait_for()
    expect(pane.locator("mark")).to_have_text(["hi", "stop", "ok"], use_inner_text=True)


def test_other_documents_do_not_take_the_places_of_a_documents_hits(desktop):
    with desktop.expect_request(
        lambda sent: "filter" in (sent.post_data or "") and sent.url.endswith("/search")
    ) as asked:
        show(desktop, "stop it", [(0, 4)])
    assert asked.value.post_data_json["filter"] == {"expression": 'document.id = "d"'}


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


def test_long_values_break_and_texts_run_their_own_way(page):
    text = "\u0644\u0645 \u064a\u0635\u0644 \u0637\u0631\u062f\u064a"
    hit = HIT | {"start": 0, "end": len(text), "text": text, "metadata": {"note": "x" * 2000}}
    document = {"id": "d", "text": text, "metadata": hit["metadata"]}
    page.route("**/search", lambda route: route.fulfill(json={"hits": [hit]}))
    page.route("**/documents/d?*", lambda route: route.fulfill(json=document))
    page.goto("/?c=sample&q=stop")
    said = page.locator(".card .said")
    expect(said).to_have_css("direction", "rtl")
    said.click()
    page.locator(".pane mark.current").first.wait_for()
    expect(page.locator(".pane .block")).to_have_css("direction", "rtl")
    assert page.locator(".pane").evaluate("pane => pane.scrollWidth <= pane.clientWidth")


def test_turns_are_told_apart_and_the_address_names_the_document(page):
    path = "/?c=sample&q=refund&t=0.5"
    page.goto(path)
    card = page.locator(".card").filter(has=page.locator(".who b", has_text="customer")).first
    card.locator(".said").click()
    page.locator(".pane mark.current").first.wait_for()
    speakers = set(page.locator(".pane .turn").all_inner_texts())
    assert {"speaker: customer", "speaker: agent"} <= speakers
    shared, said = page.url, page.locator(".pane mark.current").first.inner_text()
    page.get_by_role("button", name="Close", exact=True).click()
    page.wait_for_url(lambda url: "d=" not in url)
    page.goto(shared)
    page.locator(".pane mark.current").first.wait_for()
    expect(page.locator(".pane mark.current").first).to_have_text(said, use_inner_text=True)
    assert serious(page) == []


def test_why_is_asked_beside_an_open_document_which_stays_in_the_address(desktop):
    desktop.goto("/?c=sample&q=refund&t=0.5")
    desktop.locator(".card .said").first.click()
    desktop.locator(".pane mark.current").first.wait_for()
    settle(desktop)
    desktop.locator(".card").first.focus()
    desktop.keyboard.press("w")
    desktop.locator("dialog .unit").first.wait_for()
    desktop.keyboard.press("Escape")
    desktop.get_by_role("dialog").wait_for(state="hidden")
    expect(desktop.locator(".pane")).to_be_visible()
    assert "d=" in desktop.url


def test_back_closes_a_document_and_searches_nothing_again(desktop):
    desktop.goto("/?c=sample&q=printer")
    desktop.locator(".card").first.wait_for()
    desktop.goto("/?c=sample&q=refund")
    settle(desktop)
    desktop.locator(".card .said").first.click()
    desktop.locator(".pane mark.current").first.wait_for()
    desktop.locator(".card .said").nth(1).click()
    desktop.locator(".pane mark.current").first.wait_for()
    desktop.get_by_role("slider").evaluate("e => { e.value = '0.3'; e.dispatchEvent(new Event('input')); }")
    desktop.wait_for_url("**t=0.3**")
    searches = []
    desktop.on("request", lambda sent: searches.append(sent.url) if sent.url.endswith("/search") else None)
    desktop.evaluate("history.back()")
    desktop.locator(".pane").wait_for(state="detached")
    desktop.wait_for_url(lambda url: "d=" not in url and "t=0.3" in url)
    assert searches == []
    desktop.go_forward()
    desktop.locator(".pane mark.current").first.wait_for()
    desktop.get_by_role("button", name="Close", exact=True).click()
    desktop.locator(".pane").wait_for(state="detached")
    desktop.evaluate("history.back()")
    desktop.wait_for_url("**q=printer**")


def test_the_strip_leads_to_the_hit_beside_the_pointer(desktop):
    text = "stop " + "word " * 100 + "stop " + "word " * 100 + "stop"
    places = [at for at in range(len(text)) if text.startswith("stop", at)]
    show(desktop, text, [(at, at + 4) for at in places])
    strip = desktop.locator(".pane .strip")
    width = strip.evaluate("one => one.getBoundingClientRect().width")
    for number, share in ((2, 0.45), (3, 0.95), (1, 0.1)):
        strip.click(position={"x": width * share, "y": 5})
        desktop.get_by_text(f"{number} of 3 marks", exact=True).wait_for()


def test_what_answers_the_query_is_marked_in_a_document_found_by_nuggets(desktop, address):
    desktop.request.put(f"{address}/collections/answers", data={"nugget_ratio": 0.2})
    document = {"id": "a", "text": "The package has not arrived. Please return what I have paid. The weather is fine."}
    assert desktop.request.post(f"{address}/collections/answers/documents", data=document).ok
    desktop.goto("/?c=answers&mode=maxsim&q=my+parcel+has+not+arrived")
    desktop.locator(".card").first.wait_for()
    desktop.locator(".card .said").first.click()
    desktop.locator(".pane mark").first.wait_for()
    assert all(mark in document["text"] for mark in desktop.locator(".pane mark").all_inner_texts())


def test_a_restored_document_has_its_hits_marked_where_their_texts_stand(desktop):
    """Offsets are those of the text that was sent, which the restored one differs from."""
    restored = {"restored": True, "confidence": 0.6}
    hits = [
        HIT | restored | {"start": 9, "end": 13, "text": "stop"},
        HIT | restored | {"start": 30, "end": 33, "text": "lost"},
    ]
    document = {"id": "d", "text": "A text. Please stop it now.", "metadata": {}, **restored}
    desktop.route("**/search", lambda route: route.fulfill(json={"hits": hits}))
    desktop.route("**/documents/d?*", lambda route: route.fulfill(json=document))
    desktop.goto("/?c=sample&q=stop")
    desktop.locator(".card .said").first.click()
    desktop.get_by_text("restored from vectors").wait_for()
    expect(desktop.locator(".pane mark")).to_have_text(["stop"], use_inner_text=True)


def test_few_texts_are_restored_for_a_list(desktop):
    hit = HIT | {"start": 0, "end": 4, "text": "stop", "restored": True, "confidence": 0.9}
    asked = []

    def answer(route):
        body = route.request.post_data_json
        asked.append((body["top_k"], body["offset_unit"]))
        route.fulfill(json={"hits": [hit | {"rank": rank + 1} for rank in range(body["top_k"])]})

    desktop.route("**/search", answer)
    desktop.goto("/?c=sample&q=stop")
    desktop.get_by_text("100 shown").wait_for()
    assert asked == [(30, "utf16"), (100, "codepoint")]


@pytest.mark.parametrize("is_idle", [False, True])
def test_a_long_document_is_drawn_where_it_is_seen(desktop, is_idle):
    """At once what is in view, what is scrolled to when it comes, and the rest when the browser is idle."""
    if not is_idle:
        desktop.add_init_script("window.requestIdleCallback = () => 0;")
    text = "".join(f"Line {number:06} says nothing.\n" for number in range(40_000))
    at = text.index("Line 035000")
    show(desktop, text, [(at, at + 11)])
    mark = desktop.locator(".pane mark.current")
    expect(mark).to_be_in_viewport()
    pane = desktop.locator(".pane")
    if is_idle:
        pane.locator(".stretch:empty").last.wait_for(state="detached")
        assert pane.locator(".document").evaluate("one => one.textContent") == text
        return
    drawn = pane.locator(".stretch:not(:empty)")
    assert 1 < drawn.count() < 15
    assert pane.locator(".stretch").count() > 60
    high = pane.evaluate("one => { const high = one.scrollHeight; one.scrollTop = high / 2; return high; }")
    desktop.wait_for_function(
        """() => { const { top, height } = document.querySelector(".pane").getBoundingClientRect();
        const seen = document.elementFromPoint(1000, top + height / 2);
        return seen.closest(".stretch")?.textContent.includes("Line 0"); }"""
    )
    assert abs(pane.evaluate("one => one.scrollHeight") - high) < high / 4  # what is not drawn has its place


def test_a_long_document_is_opened_by_what_stands_around_its_hit(desktop):
    """The rest follows, and the hit stays where it is in the window; a short document is asked for once."""
    text = "".join(f"Line {number:06} says nothing.\n" for number in range(4000))
    at = text.index("Line 003000")
    held, asked = [], []

    def answer(route):
        asked.append(route.request.url)
        query = parse_qs(urlsplit(asked[-1]).query)
        if "start" not in query:
            held.append(route)
            return
        start, end = int(query["start"][0]), int(query["end"][0])
        route.fulfill(json={"id": "d", "text": text[start:end], "text_start": start, "length": len(text)})

    hit = HIT | {"start": at, "end": at + 11, "text": text[at : at + 11]}
    desktop.route("**/search", lambda route: route.fulfill(json={"hits": [hit, hit | {"start": 5, "end": 11}]}))
    desktop.route("**/documents/d?*", answer)
    desktop.route("**/preview", lambda route: route.fulfill(status=403, json={"detail": "no"}))
    with desktop.expect_request(lambda sent: "documents/d?" in sent.url and "start=" not in sent.url):
        desktop.goto(f"/?c=sample&q=stop&t=0.4&d=d&at={at}")
    mark = desktop.locator(".pane mark.current")
    mark.wait_for()
    before = mark.evaluate("one => one.getBoundingClientRect().y")
    expect(mark).to_have_text("Line 003000", use_inner_text=True)
    assert len(desktop.locator(".pane .document").evaluate("one => one.textContent")) == 16_000
    held[0].fulfill(json={"id": "d", "text": text})
    desktop.get_by_text("2 of 2 marks", exact=True).wait_for()
    expect(mark).to_have_text("Line 003000", use_inner_text=True)
    assert abs(mark.evaluate("one => one.getBoundingClientRect().y") - before) < 2
    desktop.locator(".pane .stretch:empty").last.wait_for(state="detached")
    assert desktop.locator(".pane .document").evaluate("one => one.textContent") == text
    assert len(asked) == 2

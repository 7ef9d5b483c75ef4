"""The walk of a person who searches, in a real browser."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.e2e.page.checks import no_sideways_scrolling, serious, settle, tab_to


def test_a_search_shows_hits_that_the_threshold_filters(page):
    page.goto("/?c=sample")
    page.get_by_label("Phrase", exact=True).fill("I never received my package")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator(".card mark").first.wait_for()
    page.get_by_text("at any score").first.wait_for()
    assert "q=I+never+received+my+package" in page.url
    page.get_by_label("Threshold").last.evaluate("e => { e.value = '1'; e.dispatchEvent(new Event('input')); }")
    page.get_by_text("from 1.00 on").first.wait_for()
    page.wait_for_url("**t=1**")
    assert page.locator(".card").count() <= 1
    assert no_sideways_scrolling(page)


def test_the_address_alone_repeats_a_search(page):
    page.goto("/?c=sample&q=refund&mode=lexical&t=0.5")
    page.locator(".card").first.wait_for()
    expect(page.get_by_label("How to search")).to_have_value("lexical")
    assert page.locator("input[type=range]").input_value() == "0.5"
    assert serious(page) == []


def test_the_keyboard_steps_through_hits_explains_and_opens_them(page):
    page.goto("/?c=sample&q=the+printer+takes+paper")
    settle(page)
    for key in "jjk":
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Hit 1,")
    page.keyboard.press("w")
    page.get_by_role("dialog", name="Why this hit").get_by_text("Word by word").wait_for()
    assert page.locator("dialog .unit").count() >= 1
    assert serious(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.locator(".pane .strip i").first.wait_for(state="attached")
    count = page.locator(".pane .text mark").count()
    assert count >= 1
    page.get_by_text(f"of {count}", exact=False).first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.tagName") == "MARK"
    assert serious(page) == []


def test_a_document_with_markup_stays_text(page):
    page.goto("/?c=sample&q=zebra+crossing")
    page.locator(".card").first.get_by_text("zebra crossing").wait_for()
    settle(page)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator(".pane .text").get_by_text("onerror").wait_for()
    assert page.evaluate("window.bad") is None
    expect(page.locator("main img, main script")).to_have_count(0)


def test_the_best_hits_are_there_before_all_hits(desktop):
    """The first request asks for few hits; the second is held back until these are shown."""
    held = []
    sizes = []

    def answer(route):
        sizes.append(json.loads(route.request.post_data)["top_k"])
        if sizes[-1] == 1000:
            held.append(route)
        else:
            route.continue_()

    desktop.route("**/search", answer)
    desktop.goto("/?c=sample&q=refund")
    desktop.locator(".card mark").first.wait_for()
    desktop.get_by_text("The best hits. The others follow.").wait_for()
    expect(desktop.locator(".count")).to_have_text("Counting", use_inner_text=True)
    desktop.keyboard.press("j")
    desktop.keyboard.press("j")
    focused = desktop.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("Hit 2,")
    held[0].continue_()
    desktop.get_by_text("1,000 shown").wait_for()
    assert desktop.evaluate("document.activeElement.getAttribute('aria-label')") == focused
    desktop.get_by_text("at any score").first.wait_for()
    assert sizes == [30, 1000]


def test_modules_are_asked_for_at_once(desktop):
    """None waits for another one that imports it."""
    desktop.goto("/")
    desktop.get_by_label("Phrase", exact=True).wait_for()
    loaded = desktop.evaluate(
        "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('.js')).length"
    )
    preloads = desktop.locator("link[rel=modulepreload]").count()
    assert loaded == preloads > 10


def test_metadata_filters_have_exact_counts(page):
    page.goto("/?c=sample&q=refund")
    page.locator(".card").first.wait_for()
    if page.locator("details:has-text('Filter by metadata')").get_attribute("open") is None:
        page.get_by_text("Filter by metadata").click()
    group = page.get_by_role("group", name="kind", exact=True)
    chip = group.get_by_role("button").first
    chip.wait_for()
    counts = page.request.get("/collections/sample/metadata?limit=5").json()
    (field,) = [one for one in counts["fields"] if (one["level"], one["name"]) == ("document", "kind")]
    labels = [f"{one['value']}\n{one['documents']:,}" for one in field["values"]]
    expect(group.get_by_role("button")).to_have_text(labels, use_inner_text=True)
    chip.focus()
    page.keyboard.press("Enter")
    page.get_by_text(f"Filtered by kind {field['values'][0]['value']}").wait_for()
    page.wait_for_url("**f=**")
    page.get_by_role("group", name="kind", exact=True).get_by_role("button", pressed=True).wait_for()
    # Not by their lines: on a phone the filters may be folded again.
    found = page.get_by_role("group", name="kind", exact=True).get_by_role("button").all_text_contents()
    assert found == [label.replace("\n", "") for label in labels]
    page.get_by_text(f"{field['values'][0]['documents']:,} documents at any score").first.wait_for()
    assert serious(page) == []
    assert no_sideways_scrolling(page)
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_text("Filter by metadata").wait_for()


def test_a_condition_filters_and_what_is_wrong_with_it_stands_below_it(desktop):
    desktop.goto("/?c=sample&q=refund")
    desktop.locator(".card").first.wait_for()
    condition = desktop.get_by_label("Condition")
    condition.fill('kidn = "ticket"')
    condition.press("Enter")
    desktop.locator("#filter-wrong").get_by_text("Did you mean `kind`?").wait_for()
    expect(condition).to_have_attribute("aria-invalid", "true")
    condition.fill('kind = "ticket"')
    condition.press("Enter")
    desktop.get_by_text('Filtered by kind = "ticket"').wait_for()
    desktop.locator(".card .who[title*='kind: ticket']").first.wait_for()
    expect(condition).to_have_attribute("aria-invalid", "false")
    assert serious(desktop) == []
    desktop.get_by_role("button", name="Clear filters").click()
    desktop.get_by_text("Filter by metadata").wait_for()
    expect(condition).to_have_value("")


@pytest.mark.parametrize("broken", ["broken", "null", "[]"])
def test_a_link_with_a_broken_filter_has_its_form(desktop, broken):
    desktop.goto(f"/?c=sample&q=refund&f={broken}")
    desktop.locator(".card").first.wait_for()
    expect(desktop.get_by_label("Phrase", exact=True)).to_have_value("refund")


@pytest.mark.parametrize("answer", ["<html>A proxy's page</html>", '{"hits": [', ""])
def test_an_answer_that_is_none_is_said_to_be_missing(desktop, answer):
    desktop.route("**/search", lambda route: route.fulfill(body=answer))
    desktop.goto("/?c=sample&q=refund")
    desktop.get_by_role("alert").get_by_text("The server cannot be reached.").wait_for()


def test_an_answer_that_is_given_up_while_it_is_read_says_nothing(desktop):
    """Its head is there, its body is not."""
    desktop.goto("/docs")
    said = desktop.evaluate(
        """async () => {
          const path = document.querySelector('script[type=module]').src.replace('main.js', 'api.js');
          const { get } = await import(path);
          const json = () => Promise.reject(new DOMException("given up", "AbortError"));
          window.fetch = async () => ({ ok: true, status: 200, json });
          return get("/collections").catch((error) => error.name);
        }"""
    )
    assert said == "AbortError"


def test_without_the_right_to_counts_the_page_counts_its_hits_and_says_nothing_of_rights(desktop):
    refusal = {"detail": "This key may not do that.", "hint": "It needs the scope admin."}
    desktop.route("**/preview", lambda route: route.fulfill(status=403, json=refusal))
    desktop.goto("/?c=sample&q=refund")
    desktop.get_by_text("hits at any score").first.wait_for()
    expect(desktop.get_by_text("scope")).to_have_count(0)
    desktop.goto("/?c=sample&q=refund&many=1")
    desktop.get_by_role("alert").get_by_text("It needs the scope admin.").wait_for()


def test_an_empty_search_says_what_to_do(page):
    page.goto('/?c=sample&q=refund&f={"document":{"kind":"none"}}')
    page.get_by_text("No document passes the filters and has hits.").wait_for()
    page.goto("/?c=sample&q=xyzzyx&mode=lexical")
    page.get_by_text("No hits. Use other words, or another mode.").wait_for()


def test_words_say_why_a_sentence_is_a_hit(desktop):
    desktop.goto("/?c=sample&q=refund+my+money&mode=lexical")
    settle(desktop)
    desktop.keyboard.press("j")
    desktop.keyboard.press("w")
    desktop.get_by_role("region", name="words").get_by_role("cell", name="refund").first.wait_for()


def test_why_begins_with_a_sentence(desktop):
    """The figures that add up to the score are folded below it."""
    desktop.goto("/?c=sample&q=the+printer+takes+paper")
    settle(desktop)
    desktop.keyboard.press("j")
    desktop.keyboard.press("w")
    why = desktop.get_by_role("dialog", name="Why this hit")
    why.locator(".quote + p").filter(has_text=re.compile(r"\w+ .+\.")).wait_for()
    assert why.locator("details").last.get_attribute("open") is None


def test_pairs_say_why_a_document_is_a_hit(desktop, address):
    desktop.request.put(f"{address}/collections/nuggets", data={"nugget_ratio": 0.2})
    documents = [
        {"id": "a", "text": "The package has not arrived. Please return what I have paid."},
        {"id": "b", "text": "The printer takes no paper since Monday. It is a new one."},
    ]
    assert desktop.request.post(f"{address}/collections/nuggets/documents", data=documents).ok
    desktop.goto("/?c=nuggets&mode=maxsim&q=my+parcel+has+not+arrived")
    desktop.locator(".card").nth(1).wait_for()
    settle(desktop)
    desktop.keyboard.press("j")
    desktop.keyboard.press("w")
    pairs = desktop.get_by_role("region", name="Pairs of query and document")
    pairs.locator("tbody tr").first.wait_for()
    assert pairs.locator("th").all_inner_texts() == [
        "Part of the query",
        "Stretch of the document",
        "Similarity (cosine)",
        "Contribution",
    ]
    desktop.get_by_text("Best sentence:").wait_for()
    assert serious(desktop) == []


def test_two_modes_stand_side_by_side(page):
    page.goto("/?c=sample&q=refund&vs=lexical")
    page.locator(".card").first.wait_for()
    expect(page.locator(".hits")).to_have_count(2)
    assert no_sideways_scrolling(page)


def test_several_phrases_are_a_table_and_a_csv(page):
    page.goto("/?c=sample&many=1&q=refund%0Alate+parcel")
    page.locator("tbody tr").nth(1).wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == "Phrase,Spans,Documents"
    assert [line.split(",")[0] for line in lines[1:]] == ["refund", "late parcel"]


def test_more_phrases_than_one_request_takes_are_counted(desktop):
    sizes = []
    desktop.on(
        "request",
        lambda sent: sent.url.endswith("preview") and sizes.append(len(json.loads(sent.post_data)["phrases"])),
    )
    phrases = "%0A".join(f"case+{number}" for number in range(130))
    desktop.goto(f"/?c=sample&many=1&mode=lexical&q={phrases}")
    desktop.locator("tbody tr").nth(129).wait_for()
    assert sizes == [100, 30]


def test_ten_thousand_hits_put_few_cards_into_the_document(page):
    hit = {"text": "stop", "raw": 0.5, "mode": "best_span", "metadata": {}}
    hits = [
        hit | {"document_id": f"d{number}", "start": 0, "end": 4, "score": 1 - number / 10_000, "rank": number + 1}
        for number in range(10_000)
    ]
    page.route(
        "**/search", lambda route: route.fulfill(content_type="application/json", body=json.dumps({"hits": hits}))
    )
    page.goto("/?c=sample&q=stop")
    page.get_by_text("10,000 shown").wait_for()
    assert 0 < page.locator(".card").count() < 30
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.get_by_label(re.compile("Hit 10,?000,")).wait_for()


def test_a_document_is_shown_whole_with_its_hits_marked(page):
    page.goto("/?c=sample&q=refund")
    page.locator(".card").first.wait_for()
    hit = page.evaluate(
        """async () => (await (await fetch("/search", {method: "POST", headers: {"Content-Type": "application/json"},
        body: JSON.stringify({collection: "sample", text: "refund", top_k: 1})})).json()).hits[0]"""
    )
    document = page.evaluate(
        "id => fetch(`/collections/sample/documents/${id}`).then(r => r.json())", hit["document_id"]
    )
    page.locator(".card .said").first.click()
    page.locator(".pane mark").first.wait_for()
    shown = page.evaluate("[...document.querySelectorAll('.pane .block')].map(e => e.textContent).join('')")
    assert shown == document["text"]
    assert hit["text"] in page.locator(".pane mark").all_inner_texts()
    assert no_sideways_scrolling(page)


def test_the_filters_are_folded_on_a_phone(page):
    page.goto("/?c=sample&q=refund")
    page.locator(".card").first.wait_for()
    is_phone = page.viewport_size["width"] < 640
    assert page.get_by_label("Condition").is_visible() is not is_phone
    if is_phone:
        assert (
            page.locator(".card").first.evaluate("one => one.getBoundingClientRect().y") < page.viewport_size["height"]
        )


def test_the_start_says_what_is_there_and_offers_phrases(page, address):
    page.request.post(f"{address}/collections/sample/phrases", data={"name": "where is it", "text": "where is it"})
    page.goto("/?c=sample&q=refund")
    page.locator(".results:not([aria-busy]) .card").first.wait_for()
    page.get_by_text("at any score").first.wait_for()
    page.goto("/?c=sample")
    size = page.request.get("/collections/sample").json()
    page.get_by_text(f"sample: {size['documents']:,} documents, {size['units']:,} passages").wait_for()
    for phrase in ("I never received my package", "where is it"):
        page.get_by_role("link", name=phrase, exact=True).wait_for()
    assert page.get_by_text("step through the hits").is_visible() is (page.viewport_size["width"] > 640)
    assert serious(page) == []
    page.get_by_role("link", name="refund", exact=True).first.click()
    page.locator(".card").first.wait_for()
    assert page.evaluate("Object.keys(localStorage)") == []


def test_the_theme_is_remembered(page):
    page.goto("/")
    page.get_by_role("button", name="Theme").click()
    scheme = page.evaluate("document.documentElement.style.colorScheme")
    assert scheme in {"light", "dark"}
    page.reload()
    page.get_by_role("button", name="Theme").wait_for()
    assert page.evaluate("document.documentElement.style.colorScheme") == scheme
    assert page.evaluate("Object.keys(localStorage)") == ["theme"]


def test_whole_sentences_are_counted_exactly(page):
    page.goto("/?c=sample&q=refund&b=sentence")
    page.locator(".card").first.wait_for()
    page.get_by_text("at any score").first.wait_for()


def test_the_threshold_of_the_collection_is_where_the_slider_starts(desktop, address):
    address = f"{address}/admin/collections/sample/thresholds"
    assert desktop.request.put(address, data={"value": 0.9}).ok
    try:
        desktop.goto("/?c=sample&q=refund")
        desktop.get_by_text("at the collection's threshold").wait_for()
        slider = desktop.locator("input[type=range]")
        expect(slider).to_have_value("0.9")
        slider.evaluate("e => { e.value = '0'; e.dispatchEvent(new Event('input')); }")
        desktop.get_by_text("1,000 shown").wait_for()
        desktop.wait_for_url("**t=0")
        desktop.reload()
        desktop.get_by_text("1,000 shown").wait_for()
    finally:
        assert desktop.request.post(f"{address}/undo").ok


def test_two_modes_have_thresholds_of_their_own(desktop):
    desktop.goto("/?c=sample&q=refund&vs=lexical&t=0.6&t2=0.2")
    spans, words = (desktop.get_by_role("region", name=name, exact=True) for name in ("By meaning", "By words"))
    spans.get_by_text("from 0.60 on").wait_for()
    words.get_by_text("from 0.20 on").wait_for()
    shown = words.locator(".card").count()
    spans.locator("input[type=range]").evaluate("e => { e.value = '1'; e.dispatchEvent(new Event('input')); }")
    spans.get_by_text("from 1.00 on").wait_for()
    desktop.wait_for_url("**t=1&t2=0.2**")
    expect(words.locator(".card")).to_have_count(shown)


def test_the_words_of_a_sentence_are_marked(desktop):
    desktop.goto("/?c=sample&q=refund+money&mode=lexical")
    desktop.locator(".card .sentence mark").first.wait_for()
    said = {word.lower() for word in desktop.locator(".card .sentence mark").all_inner_texts()}
    assert said <= {"refund", "money"}


def test_a_span_is_seen_at_any_width(page):
    """What stands before it is cut: it lies within the lines that a card shows."""
    before = "word " * 23
    hit = {
        "document_id": "d",
        "text": "stop it",
        "start": 120,
        "end": 127,
        "score": 0.5,
        "raw": 0.5,
        "mode": "best_span",
    }
    context = {"text": f"cut o{before}stop it {'after ' * 20}", "start": 120, "end": 127}
    page.route(
        "**/search", lambda route: route.fulfill(json={"hits": [hit | {"rank": 1, "metadata": {}, "context": context}]})
    )
    page.goto("/?c=sample&q=stop")
    page.locator(".card mark").wait_for()
    assert page.locator(".card .said").inner_text().startswith("\u2026 word")
    assert page.evaluate(
        """() => { const of = (name) => document.querySelector(name).getBoundingClientRect();
        return of(".card mark").bottom <= of(".card .said").bottom; }"""
    )


def test_terms_and_shares_add_up_to_the_score(desktop):
    desktop.goto("/?c=sample&q=my+parcel+never+came&b=clause")
    settle(desktop)
    for key in "jjj":
        desktop.keyboard.press(key)
    desktop.keyboard.press("w")
    desktop.get_by_text("Terms of the score", exact=True).click()
    terms = desktop.get_by_role("dialog").get_by_role("region", name="Terms of the score")
    terms.wait_for()
    rows = [
        row.split("\n")[0].split("\t")
        for row in terms.locator("tr").evaluate_all(
            "rows => rows.map((row) => `${row.cells[0].firstChild.textContent}\t${row.cells[1].textContent}`)"
        )
    ]
    values = {name: float(value.replace("\u2212", "-")) for name, value in rows}
    own = (
        values["Similarity (cosine)"]
        + values["Length"]
        + values["Borders of the text"]
        + values["The query's own words"]
    )
    assert abs(own - values.get("Its own terms", values["Sum"])) < 0.003
    assert abs((1 + values["Sum"]) / 2 - values["Raw score"]) < 0.002


def test_without_collections_every_view_says_what_to_do(page):
    page.route("**/collections", lambda route: route.fulfill(json={"collections": []}))
    for view in ("", "?view=thresholds", "?view=data"):
        page.goto(f"/{view}")
        page.get_by_role("button", name="Load the sample").wait_for()
        expect(page.get_by_label("Name of the new collection")).to_be_visible()
        assert no_sideways_scrolling(page)


def test_back_returns_to_the_search_before(desktop):
    desktop.goto("/?c=sample&q=refund")
    desktop.locator(".card").first.wait_for()
    desktop.get_by_label("Phrase", exact=True).fill("late parcel")
    desktop.keyboard.press("Enter")
    desktop.wait_for_url("**q=late**")
    settle(desktop)
    tab_to(desktop, "Search")
    desktop.keyboard.press("j")
    desktop.keyboard.press("w")
    desktop.get_by_role("dialog").locator(".unit").first.wait_for()
    desktop.go_back()
    desktop.wait_for_url("**q=refund**")
    desktop.get_by_role("dialog").wait_for(state="hidden")
    expect(desktop.get_by_label("Phrase", exact=True)).to_have_value("refund")


def test_a_phrase_without_words_is_said_to_be_one(page):
    page.goto("/?c=sample&q=um")
    page.get_by_text("The query holds only fillers").wait_for()
    assert serious(page) == []


def test_a_long_document_is_said_to_be_cut(page):
    hit = {"document_id": "long", "mode": "maxsim", "text": "a part", "score": 1.0, "raw": 1.0, "rank": 1, "start": 9}
    answer = {"hits": [{**hit, "end": 15, "metadata": {}, "cut": True}], "threshold": {"value": 0, "source": "none"}}
    page.route("**/search", lambda route: route.fulfill(json=answer))
    page.goto("/?c=sample&q=part&mode=maxsim")
    page.locator(".card").get_by_text("a part of it").wait_for()

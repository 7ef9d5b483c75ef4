"""The walk of a person who searches, in a real browser."""

import json

from tests.e2e.page.checks import no_sideways_scrolling, serious


def test_a_search_shows_hits_that_the_threshold_filters(page):
    page.goto("/?c=sample")
    page.get_by_label("Phrase", exact=True).fill("I never received my package")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator(".card mark").first.wait_for()
    page.get_by_text("documents at 0.00 or more").first.wait_for()
    assert "q=I+never+received+my+package" in page.url
    page.get_by_label("Threshold").last.evaluate("e => { e.value = '1'; e.dispatchEvent(new Event('input')); }")
    page.get_by_text("at 1.00 or more").first.wait_for()
    page.wait_for_url("**t=1**")
    assert page.locator(".card").count() <= 1
    assert no_sideways_scrolling(page)


def test_the_address_alone_repeats_a_search(page):
    page.goto("/?c=sample&q=refund&mode=lexical&t=0.5")
    page.locator(".card").first.wait_for()
    assert page.get_by_label("Mode").input_value() == "lexical"
    assert page.locator("input[type=range]").input_value() == "0.5"
    assert serious(page) == []


def test_the_keyboard_steps_through_hits_explains_and_opens_them(page):
    page.goto("/?c=sample&q=the+printer+takes+paper")
    page.locator(".card").first.wait_for()
    for key in "jjk":
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Hit 1,")
    page.keyboard.press("w")
    page.get_by_role("dialog", name="Why this hit").get_by_text("Similarity (cosine)").wait_for()
    assert page.locator("dialog .unit").count() >= 1
    assert serious(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.locator("dialog .strip i").first.wait_for(state="attached")
    count = page.locator("dialog .text mark").count()
    assert count >= 1
    page.get_by_text(f"of {count}", exact=False).first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.tagName") == "MARK"
    assert serious(page) == []


def test_a_document_with_markup_stays_text(page):
    page.goto("/?c=sample&q=zebra+crossing")
    page.locator(".card").first.get_by_text("<script>").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("dialog .text").get_by_text("onerror").wait_for()
    assert page.evaluate("window.bad") is None
    assert page.locator("main img, main script, dialog img, dialog script").count() == 0


def test_two_modes_stand_side_by_side(page):
    page.goto("/?c=sample&q=refund&vs=lexical")
    page.locator(".card").first.wait_for()
    assert page.locator(".hits").count() == 2
    assert no_sideways_scrolling(page)


def test_several_phrases_are_a_table_and_a_csv(page):
    page.goto("/?c=sample&many=1&q=refund%0Alate+parcel")
    page.locator("tbody tr").nth(1).wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == "Phrase,Spans,Documents"
    assert [line.split(",")[0] for line in lines[1:]] == ["refund", "late parcel"]


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
    page.get_by_label("Hit 10000,").wait_for()


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
    page.get_by_role("button", name="Document", exact=True).first.click()
    page.locator("dialog mark").first.wait_for()
    shown = page.evaluate("[...document.querySelectorAll('dialog .block')].map(e => e.textContent).join('')")
    assert shown == document["text"]
    assert hit["text"] in page.locator("dialog mark").all_inner_texts()
    assert no_sideways_scrolling(page)


def test_the_options_are_folded_on_a_phone(page):
    page.goto("/?c=sample&q=refund")
    page.locator(".card").first.wait_for()
    is_phone = page.viewport_size["width"] < 640
    assert page.get_by_label("Mode").is_visible() is not is_phone
    if is_phone:
        assert page.locator(".card").first.bounding_box()["y"] < page.viewport_size["height"]


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
    page.get_by_text("documents at 0.00 or more").first.wait_for()

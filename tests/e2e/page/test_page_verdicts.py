"""What the page says of hits that were judged, and what a person does with them: the server's answers are made up."""

import csv
import re
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import expect

from tests.e2e.page.checks import no_sideways_scrolling, serious, settle

TEXT = "Hello. The rent rises by 3 % a year. The rent never rises. Nice weather. The rent is due in May."
SAID = {
    "The rent rises by 3 % a year": ("match", 0.9, None),
    "The rent never rises": ("differs", 0.4, ["negation"]),
    "Nice weather": ("unrelated", 0.01, None),
    "The rent is due in May": ("unrelated", 0.1, None),
}


def hit_of(text: str, rank: int, **more: object) -> dict[str, object]:
    verdict, probability, differs = SAID[text]
    start = TEXT.index(text)
    place = {"document_id": "lease-7", "start": start, "end": start + len(text), "text": text, "mode": "best_span"}
    judged = {"verdict": verdict, "probability": probability, "differs": differs, "clause": place, "rank": rank}
    metadata = {"metadata": {"title": "Lease of 7 Elm Road"}, "part_metadata": {"speaker": "agent", "start": 65}}
    return place | judged | {"score": probability, "raw": probability} | metadata | more


def answer_of(hits: list[dict[str, object]], **more: object) -> dict[str, object]:
    likely = sum(hit.get("verdict") == "match" for hit in hits)
    verified = {"hits": len(hits), "likely": likely, "complete": True}
    return {"hits": hits, "verified": verified, "threshold": {"value": None, "on": "score", "source": "none"}} | more


def serve(page, hits: list[dict[str, object]], **more: object) -> list[dict[str, object]]:
    """Answer every search with these hits; returns the list of requests."""
    asked: list[dict[str, object]] = []

    def answer(route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(json=answer_of(hits, **more))

    parts = [
        {"start": 0, "end": 6, "metadata": {"speaker": "customer"}},
        {"start": 7, "end": len(TEXT), "metadata": {}},
    ]
    document = {"id": "lease-7", "text": TEXT, "parts": parts, "metadata": {"title": "Lease of 7 Elm Road"}}
    page.route("**/search", answer)
    page.route("**/documents/lease-7?*", lambda route: route.fulfill(json=document))
    return asked


def all_hits() -> list[dict[str, object]]:
    return [hit_of(text, rank) for rank, text in enumerate(SAID, 1)]


def test_likely_hits_are_shown_and_others_on_request(page):
    serve(page, all_hits())
    page.goto("/?c=sample&q=the+rent+rises+every+year")
    page.get_by_text("1 likely match, 1 may be near. The rest is unrelated text.").wait_for()
    expect(page.locator(".card")).to_have_count(1)
    expect(page.locator(".card mark")).to_have_text("The rent rises by 3 % a year", use_inner_text=True)
    page.get_by_role("button", name="May be 2").click()
    near = page.locator(".card.near")
    near.get_by_text("differs: negation").wait_for()
    expect(near.locator("mark s")).to_have_text(["never"], use_inner_text=True)
    page.get_by_role("button", name="All 4").click()
    expect(page.locator(".card.unlikely")).to_have_count(2)
    expect(page.locator(".card.unlikely .tag")).to_have_text(["unlikely"] * 2, use_inner_text=True)
    assert serious(page) == []
    assert no_sideways_scrolling(page)


def test_a_match_that_is_not_certain_says_so(desktop):
    sure = hit_of("The rent rises by 3 % a year", 1)
    unsure = hit_of("The rent never rises", 2, verdict="match", probability=0.6, differs=None)
    serve(desktop, [sure, unsure])
    desktop.goto("/?c=sample&q=the+rent+rises+every+year")
    desktop.get_by_text("2 likely matches (1 not sure).").wait_for()
    expect(desktop.locator(".card.unsure .tag")).to_have_text(["not sure"], use_inner_text=True)
    expect(desktop.locator(".card.likely .tag")).to_have_count(0)


def test_without_a_likely_hit_the_nearest_are_said_to_be_that(desktop):
    serve(desktop, [hit_of("Nice weather", 1), hit_of("The rent is due in May", 2)])
    desktop.goto("/?c=sample&q=zxqv+blorft+wug")
    desktop.get_by_text("No likely match. What is nearest does not say it.").wait_for()
    expect(desktop.locator(".card.likely")).to_have_count(0)
    expect(desktop.locator(".card .tag")).to_have_text(["unlikely", "unlikely"], use_inner_text=True)


def test_a_sentence_stands_once(desktop):
    """Its spans have one verdict, so the best of them stands for it."""
    whole = hit_of("The rent rises by 3 % a year", 1)
    part = whole | {"start": 7, "end": 15, "text": "The rent", "raw": 0.2, "score": 0.2, "rank": 2}
    serve(desktop, [part, whole])
    desktop.goto("/?c=sample&q=the+rent+rises+every+year")
    desktop.get_by_text("1 likely match. The rest").wait_for()
    expect(desktop.locator(".card mark")).to_have_text([whole["text"]], use_inner_text=True)


def test_rows_show_what_tells_hits_apart(desktop):
    """The ends of long names, the best sentence of a whole document, and no mark of what is in every text."""
    rent = "The rent rises by 3 % a year"
    name = "Exhibit_10.3_Lease_Agreement_of_a_Warehouse_2019-04-30_Amended.pdf"
    document = {"mode": "maxsim", "text": "EXHIBIT 10.3 Execution Copy", "start": 0, "end": len(TEXT)}
    clause = {"text": rent, "start": 7, "end": 7 + len(rent)}
    words = [{"text": word, "start": 7 + at, "end": 7 + at + len(word)} for word, at in (("The", 0), ("rent", 4))]
    serve(
        desktop,
        [
            hit_of(rent, 1, document_id="a", metadata={"title": name}, polarity="negated"),
            hit_of(rent, 2, document_id="b", clause=clause, part_metadata=None) | document,
            hit_of(rent, 3, document_id="c", clause=None, verdict=None, match="exact") | {"text": f"), {rent}"},
            hit_of(rent, 4, document_id="d", highlights=words),
        ],
    )
    desktop.goto("/?c=sample&q=the+rent+rises+every+year")
    rows = desktop.locator(".card")
    rows.nth(3).wait_for()
    shown = dict(zip(rows.evaluate_all("all => all.map((one) => one.dataset.document)"), rows.all(), strict=True))
    title = shown["a"].locator(".who").inner_text()
    assert title.startswith("agent 1:05 Exhibit_10.3")
    assert title.endswith("04-30_Amended.pdf")
    expect(shown["a"].get_by_text("negated")).to_have_count(0)  # the second look says that it matches
    expect(shown["b"].locator(".said")).to_have_text(rent, use_inner_text=True)
    expect(shown["c"].locator("mark")).to_have_text(rent, use_inner_text=True)
    expect(shown["d"].locator("mark")).to_have_text(["rent"], use_inner_text=True)


def test_one_bar_does_not_flatten_the_others(desktop):
    """As after a calibration, by which most of a collection scores 0."""
    serve(desktop, all_hits())
    bars = [100_000, *[0] * 59, 40, *[0] * 39]
    counts = {"phrase": "x", "histogram": bars, "documents_above": [1] * 101, "spans_above": [1] * 101}
    desktop.route("**/preview", lambda route: route.fulfill(json={"phrases": [counts], "no_match": {"high": 0.3}}))
    desktop.goto("/?c=sample&q=the+rent+rises+every+year")
    desktop.get_by_text("at any score").wait_for()
    paths = desktop.locator(".histogram path").evaluate_all("all => all.map((one) => one.getAttribute('d') || '')")
    heights = [float(height) for path in paths for height in re.findall(r"v-([\d.]+)", path)]
    assert min(heights) > 10


def test_more_likely_hits_than_were_read_are_estimated(desktop):
    more = {"likely": {"shown": 1, "estimated": 40, "interval": [30, 55]}}
    asked = serve(desktop, all_hits(), verified={"hits": 20, "likely": 1, "complete": False}, **more)
    desktop.goto("/?c=sample&q=the+rent+rises+every+year")
    desktop.get_by_text("1 or more likely matches").wait_for()
    desktop.get_by_text("About 40 in the whole collection (30 to 55).").wait_for()
    assert [one["verify"] for one in asked[:2]] == [20, 100]


def test_ten_hits_fit_a_screen_and_one_shows_what_was_said_before(desktop):
    hits = [hit_of("The rent rises by 3 % a year", rank, document_id=f"d{rank}") for rank in range(1, 30)]
    serve(desktop, [hit_of("The rent rises by 3 % a year", 1), *hits])
    desktop.goto("/?c=sample&q=the+rent+rises+every+year")
    desktop.locator(".card").nth(10).wait_for()
    settle(desktop)
    seen = desktop.locator(".card").evaluate_all(
        "cards => cards.filter((card) => card.getBoundingClientRect().bottom <= innerHeight).length"
    )
    assert seen >= 10
    expect(desktop.locator(".card .who").first).to_have_text("agent 1:05 Lease of 7 Elm Road", use_inner_text=True)
    desktop.keyboard.press("j")
    second = desktop.locator(".hits > li").nth(1)
    before = second.evaluate("one => one.getBoundingClientRect().y")
    desktop.keyboard.press("b")
    desktop.locator(".more .before").get_by_text("customer: Hello.").wait_for()
    assert second.evaluate("one => one.getBoundingClientRect().y") > before
    desktop.keyboard.press("b")
    desktop.locator(".more").wait_for(state="detached")
    assert second.evaluate("one => one.getBoundingClientRect().y") == before


def test_a_document_stands_beside_the_list_with_its_likely_hits_marked(page):
    serve(page, all_hits())
    page.goto("/?c=sample&q=the+rent+rises+every+year")
    page.locator(".card .said").first.click()
    pane = page.locator(".pane")
    pane.get_by_text("1 of 1 mark").wait_for()
    expect(pane.locator("h2")).to_have_text("Lease of 7 Elm Road", use_inner_text=True)
    expect(pane.locator("mark")).to_have_text(["The rent rises by 3 % a year"], use_inner_text=True)
    pane.get_by_role("button", name="3 weaker").click()
    expect(pane.locator("mark")).to_have_count(4)
    expect(pane.locator("mark.near")).to_have_text(["The rent never rises"], use_inner_text=True)
    with page.expect_request(lambda request: (request.post_data or "").find('"weather"') > 0) as searched:
        pane.get_by_role("searchbox").fill("weather")
    assert searched.value.post_data_json["text"] == "weather"
    assert searched.value.post_data_json["filter"]["expression"] == 'document.id = "lease-7"'
    assert no_sideways_scrolling(page)
    page.keyboard.press("Escape")
    pane.wait_for(state="detached")
    assert "d=" not in page.url


def test_a_document_narrows_the_list_to_itself(desktop):
    serve(desktop, all_hits())
    desktop.goto("/?c=sample&q=the+rent+rises+every+year")
    desktop.locator(".card .said").first.click()
    desktop.locator(".results:not([aria-busy]) .card").first.wait_for()
    with desktop.expect_request(lambda sent: '"filter"' in (sent.post_data or "")) as asked:
        desktop.get_by_role("button", name="Search only here").click()
        desktop.get_by_text('Filtered by document.id = "lease-7"').wait_for()
    assert asked.value.post_data_json["filter"] == {"expression": 'document.id = "lease-7"'}
    desktop.locator(".results:not([aria-busy]) .card").first.wait_for()


def test_results_follow_what_is_written_and_stale_ones_are_dropped(desktop):
    held = []

    def answer(route) -> None:
        body = route.request.post_data_json
        text = {"the rent never": "The rent never rises"}.get(body["text"], "Nice weather")
        if body["text"] == "the rent":
            held.append(route)
        else:
            route.fulfill(json=answer_of([hit_of(text, 1)], **({"verified": None} if not body.get("verify") else {})))

    desktop.route("**/search", answer)
    desktop.goto("/?c=sample")
    field = desktop.get_by_label("Phrase", exact=True)
    with desktop.expect_request("**/search") as draft:
        field.fill("the rent")
    assert (draft.value.post_data_json["top_k"], draft.value.post_data_json["verify"]) == (30, 0)
    field.fill("the rent never")
    desktop.locator(".card mark").get_by_text("never").wait_for()
    desktop.get_by_text("1 may be near").wait_for()
    for route in held:
        route.abort()
    expect(desktop.locator(".card mark")).to_have_text(["The rent never rises"], use_inner_text=True)
    assert desktop.evaluate("document.activeElement.id") == "query"
    assert "q=the+rent+never" in desktop.url


def test_answers_move_the_threshold_and_survive(desktop):
    hits = [
        hit_of("The rent rises by 3 % a year", rank, document_id=f"d{rank}", score=0.9 - rank / 20)
        for rank in range(1, 9)
    ]
    serve(desktop, hits)
    document = {"id": "d", "text": TEXT, "parts": [], "metadata": {}}
    desktop.route("**/documents/d*", lambda route: route.fulfill(json=document))
    proposed = []

    def propose(route) -> None:
        proposed.append(route.request.post_data_json["labels"])
        precision = {"value": 0.93, "low": 0.79, "high": 0.99}
        route.fulfill(json={"thresholds": [{"score": 0.61, "precision": precision}]})

    desktop.route("**/propose", propose)
    desktop.goto("/?c=sample&q=the+rent+rises")
    desktop.locator(".card").nth(7).wait_for()
    settle(desktop)
    for number, key in enumerate("yyyn", 1):
        desktop.keyboard.press("j")
        desktop.keyboard.press(key)
        desktop.get_by_text(f"{number} answer").first.wait_for()
    desktop.get_by_text("4 answers; after 1 more a threshold is proposed.").wait_for()
    desktop.reload()
    desktop.get_by_text("you said yes").first.wait_for()
    settle(desktop)
    desktop.keyboard.press("j")
    unanswered = desktop.locator(".card").filter(has_not_text="you said").last
    unanswered.get_by_role("button", name="No, it does not").click()
    desktop.get_by_text("from 0.61 on about 93 % are right (79 to 99 %)").wait_for()
    expect(desktop.get_by_role("slider")).to_have_value("0.61")
    assert {label["match"] for label in proposed[0]} == {True, False}
    assert all(set(label) == {"phrase", "match", "span"} for label in proposed[0])
    desktop.get_by_role("button", name="Undo the last answer").click()
    desktop.get_by_text("4 answers; after 1 more").wait_for()
    assert serious(desktop) == []


def test_a_phrase_is_saved_with_its_threshold_and_dropped_again(desktop, address):
    desktop.goto("/?c=sample&q=the+printer+is+broken&t=0.9")
    settle(desktop)
    desktop.get_by_role("button", name="Save phrase").click()
    desktop.get_by_text("Saved; ").wait_for()
    saved = desktop.request.get(f"{address}/collections/sample/phrases/the%20printer%20is%20broken").json()
    assert (saved["threshold"]["value"], saved["threshold"]["on"]) == (0.9, "score")
    desktop.get_by_role("button", name="Saved").click()
    desktop.get_by_text("No longer saved").wait_for()
    assert not desktop.request.get(f"{address}/collections/sample/phrases/the%20printer%20is%20broken").ok


def test_what_is_shown_is_exported_and_cited(browser, desktop, address):
    desktop.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desktop.goto("/?c=sample&q=refund&t=0.7")
    desktop.locator(".card").first.wait_for()
    desktop.get_by_text("Export", exact=True).click()
    with desktop.expect_download() as download:
        desktop.get_by_role("button", name="CSV, for a spreadsheet").click()
    heading, first = download.value.path().read_text("utf-8-sig").splitlines()[:2]
    assert "document_id" in heading.split(",")
    assert "refund" in first.lower()
    desktop.get_by_text("Export", exact=True).click()
    desktop.get_by_role("button", name="Copy as citations").click()
    desktop.locator("#status").get_by_text("copied").wait_for(state="attached")
    (cited, *_) = desktop.evaluate("navigator.clipboard.readText()").splitlines()
    assert cited.startswith("\u201c")
    assert "characters " in cited


def exported(page) -> list[dict[str, str]]:
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV, for a spreadsheet").click()
    return list(csv.DictReader(download.value.path().read_text("utf-8-sig").splitlines()))


def test_an_export_has_what_is_listed_and_no_more(desktop):
    """What may be near, and what a person rejects: the server knows of neither. Its offsets count code points."""
    text = TEXT.replace("Hello.", "H\U0001f600llo")
    likely = hit_of("The rent rises by 3 % a year", 1, copies=1)
    serve(desktop, [likely, likely | {"document_id": "lease-8"}, *all_hits()[1:]])
    document = {"id": "lease", "text": text, "parts": [], "metadata": {}}
    desktop.route("**/documents/lease-*", lambda route: route.fulfill(json=document))
    desktop.goto("/?c=sample&q=the+rent+rises+every+year")
    desktop.get_by_role("button", name="May be 3").click()
    rows = exported(desktop)
    assert [(row["document_id"], row["verdict"], row["start"]) for row in rows] == [
        ("lease-7", "match", "6"),
        ("lease-8", "match", "6"),
        ("lease-7", "differs", str(TEXT.index("The rent never") - 1)),
    ]
    desktop.get_by_role("button", name="Likely 2").click()
    desktop.locator(".card").first.get_by_role("button", name="No, it does not").click()
    desktop.get_by_role("button", name="Likely 1").wait_for()
    assert [row["document_id"] for row in exported(desktop)] == ["lease-8"]
    desktop.get_by_text("Export", exact=True).click()
    desktop.get_by_role("button", name="XLSX").click()
    desktop.get_by_role("alert").get_by_text("CSV and NDJSON alone").wait_for()


def test_copies_that_are_shown_once_are_exported_once(desktop):
    desktop.goto("/?c=sample&q=refund&x=1&t=0.7")
    desktop.locator(".results:not([aria-busy]) .card").first.wait_for()
    desktop.get_by_text("from 0.70 on").wait_for()
    rows = exported(desktop)
    assert len({row["text"] for row in rows}) == len(rows) > 1
    desktop.get_by_text(f"{len(rows)} shown").wait_for()


def test_likely_hits_below_the_threshold_are_said_to_be_there(desktop):
    serve(desktop, all_hits())
    desktop.goto("/?c=sample&q=the+rent+rises+every+year&t=0.95")
    desktop.locator(".verdict").get_by_text("1 likely match lies below the threshold.").wait_for()
    expect(desktop.get_by_text("No likely match.")).to_have_count(0)


def test_a_threshold_is_of_one_phrase_and_mode(desktop):
    desktop.goto("/?c=sample&q=refund&t=0.6")
    settle(desktop)
    move = "e => { e.value = '0.7'; e.dispatchEvent(new Event('input')); }"
    desktop.get_by_role("slider").evaluate(move)
    desktop.get_by_label("Phrase", exact=True).fill("the printer is broken")
    desktop.get_by_role("button", name="Search", exact=True).click()
    desktop.wait_for_url(lambda url: "printer" in url and "t=" not in url)
    expect(desktop.get_by_role("slider")).to_have_value("0")
    desktop.get_by_role("slider").evaluate(move)
    desktop.get_by_text("More options").click()
    desktop.get_by_label("How to search").select_option("lexical")
    desktop.wait_for_url(lambda url: "lexical" in url and "&t=" not in url)
    expect(desktop.get_by_role("slider")).to_have_value("0")


def test_a_threshold_moved_while_a_search_is_on_its_way_is_kept(desktop):
    desktop.goto("/?c=sample&q=refund")
    settle(desktop)
    held = []
    desktop.route("**/search", lambda route: held.append(route), times=1)
    desktop.get_by_text("More options").click()
    with desktop.expect_request("**/search"):
        desktop.get_by_label("What is marked").select_option("sentence")
    slider = desktop.get_by_role("slider")
    slider.evaluate("e => { e.value = '0.7'; e.dispatchEvent(new Event('input')); }")
    held[0].continue_()
    settle(desktop)
    desktop.wait_for_url("**t=0.7**")
    expect(slider).to_have_value("0.7")


def test_two_tabs_keep_each_others_answers(desktop):
    hits = [hit_of("The rent rises by 3 % a year", rank, document_id=f"d{rank}") for rank in (1, 2)]
    serve(desktop, hits)
    path = "/?c=sample&q=the+rent+rises"
    desktop.goto(path)
    desktop.locator(".card").nth(1).wait_for()
    place = "answers sample the rent rises"
    other = ["d9 1 2", {"match": True, "span": {"document_id": "d9", "start": 1, "end": 2}}]
    write = "([place, kept]) => localStorage.setItem(place, JSON.stringify(kept))"
    desktop.evaluate(write, [place, [other]])
    desktop.locator(".card").first.get_by_role("button", name="Yes, it says this").click()
    kept = "(place) => JSON.parse(localStorage.getItem(place)).map(([, one]) => one.span.document_id)"
    desktop.get_by_text("2 answers; after 3 more").wait_for()
    assert desktop.evaluate(kept, place) == ["d9", "d1"]
    desktop.get_by_role("button", name="Undo the last answer").click()
    desktop.get_by_text("1 answer; after 4 more").wait_for()
    assert desktop.evaluate(kept, place) == ["d9"]


@pytest.mark.parametrize("text", ["either/or of the printer", "the printer is broken again, " * 8 + "and again"])
def test_a_phrase_with_a_slash_or_of_any_length_is_saved_and_stays_so(desktop, text):
    desktop.goto(f"/?c=sample&t=0.9&q={quote_plus(text)}")
    settle(desktop)
    desktop.get_by_role("button", name="Save phrase").click()
    desktop.get_by_text("Saved; ").wait_for()
    desktop.reload()
    desktop.get_by_role("button", name="Saved").click()
    desktop.get_by_text("No longer saved").wait_for()


def test_a_phrase_is_not_saved_with_a_threshold_of_words(desktop):
    desktop.goto("/?c=sample&q=the+paper+tray&mode=lexical&t=0.4")
    settle(desktop)
    with desktop.expect_request(lambda sent: sent.url.endswith("/phrases") and sent.method == "POST") as asked:
        desktop.get_by_role("button", name="Save phrase").click()
    assert "threshold" not in asked.value.post_data_json
    desktop.get_by_text("Saved without a threshold").wait_for()
    desktop.get_by_role("button", name="Saved").click()
    desktop.get_by_text("No longer saved").wait_for()


@pytest.mark.ci("a browser")
def test_compared_modes_are_tabs_on_a_phone(page):
    page.goto("/?c=sample&q=refund&vs=lexical")
    page.locator(".card").first.wait_for()
    if page.viewport_size["width"] > 640:
        expect(page.get_by_role("tab").first).to_be_hidden()
        return
    words = page.get_by_role("region", name="By words", exact=True)
    expect(words).to_be_hidden()
    page.get_by_role("tab", name="By words").click()
    words.locator(".card").first.wait_for()
    assert words.locator(".card").first.evaluate("one => one.getBoundingClientRect().y") < 1500


def test_hits_are_counted_by_metadata(desktop):
    desktop.goto("/?c=sample&q=refund&t=0.3")
    chart = desktop.locator(".chart").filter(has_text="By kind")
    chart.get_by_text("ticket").wait_for()
    bars = chart.locator("li .meta").all_inner_texts()
    assert bars == sorted(bars, key=lambda count: -int(count.replace(",", "")))


WORDS = [
    ("the rent rises", "the rent never rises", ["negation"], ["never"]),
    ("ten days", "we wait 30 days", ["number"], ["30"]),
    ("the rent increases", "the rent decreases", ["antonym"], ["decreases"]),
    ("cancel my flight", "cancelling my hotel", ["object"], ["hotel"]),
    ("my parcel is late", "good morning", ["object"], []),
    ("it is late", "it isn't late", ["condition"], []),
]


def test_the_words_that_differ(desktop):
    desktop.goto("/docs")
    struck = desktop.evaluate(
        """async (cases) => {
          const path = document.querySelector('script[type=module]').src.replace('main.js', 'differences.js');
          const { differing } = await import(path);
          const struck = (text) => ({ start, end }) => text.slice(start, end);
          return cases.map(([phrase, text, kinds]) => differing(phrase, text, kinds).map(struck(text)));
        }""",
        WORDS,
    )
    assert struck == [words for *_, words in WORDS]


def test_a_match_after_emoji_leads_to_its_place(desktop, address):
    phrase = {"name": "lids", "text": "the lid was cracked", "threshold": 0.99}
    assert desktop.request.post(f"{address}/collections/sample/phrases", data=phrase).ok
    text = "\U0001f600\U0001f600 Hi. The lid was cracked. \U0001f600 Oh. The lid was cracked. Bye."
    document = {"id": "chat-9", "text": text}
    assert desktop.request.post(f"{address}/collections/sample/documents", data=document).ok
    desktop.goto("/?view=data&c=sample")
    rows = desktop.get_by_role("region", name="Matches of saved phrases").locator("tbody tr").filter(has_text="chat-9")
    expect(rows).to_have_count(2)
    rows.first.get_by_role("link").click()
    desktop.locator(".pane").get_by_text("2 of 2 marks").wait_for()
    assert "u=cp" not in desktop.url


def test_a_match_leads_to_its_document_and_what_stands_around_it(desktop, address):
    phrase = {"name": "boxes", "text": "the box was empty", "threshold": 0.99}
    assert desktop.request.post(f"{address}/collections/sample/phrases", data=phrase).ok
    document = {"id": "mail-9", "text": "Dear shop, the box was empty when it came. Regards."}
    assert desktop.request.post(f"{address}/collections/sample/documents", data=document).ok
    desktop.goto("/?view=data&c=sample")
    matches = desktop.get_by_role("region", name="Matches of saved phrases")
    row = matches.locator("tbody tr").filter(has_text="mail-9").first
    row.get_by_role("button", name="Show what stands around").click()
    row.get_by_text("Dear shop, ").wait_for()
    with desktop.expect_download() as download:
        matches.get_by_role("button", name="Export as CSV").click()
    assert "mail-9" in download.value.path().read_text()
    row.get_by_role("link", name="mail-9").click()
    desktop.locator(".pane mark.current").first.wait_for()
    assert desktop.locator(".pane mark.current").first.inner_text().lower().startswith("the box")

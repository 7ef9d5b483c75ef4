"""A method for every operation of the API, written by ``python -m docs.generate``: do not edit."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from spanseek import models
from spanseek.answers import read
from spanseek.paths import quoted
from spanseek.synchronous.transport import Content, Transport


class Api:
    """All operations of the API. An argument that is None is not sent.

    Every method raises the errors of ``spanseek.errors``.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def search(
        self,
        *,
        collection: str,
        cursor: str | None = None,
        counts: Sequence[str] | None = None,
        sort: str | None = None,
        collapse: str | None = None,
        per_document: int | None = None,
        verify: int | None = None,
        likely: bool | None = None,
        text: str | None = None,
        vector: Sequence[float] | None = None,
        query_units: int | None = None,
        mode: str | None = None,
        filter: Mapping[str, object] | None = None,
        stemming: str | None = None,
        threshold: float | str | None = None,
        threshold_on: Literal["score", "raw"] | None = None,
        ranking: Literal["span_score", "cosine"] | None = None,
        spans: Mapping[str, object] | None = None,
        offset_unit: Literal["codepoint", "utf16", "byte"] | None = None,
        context: int | None = None,
        explain: bool | None = None,
        group_by: Literal["span", "part", "document"] | None = None,
        top_k: int | None = None,
        offset: int | None = None,
        total: bool | None = None,
        estimate: bool | None = None,
    ) -> models.SearchAnswer:
        """Find the spans of a collection that are most similar to a text or a vector, best first.

        - ``collection``: The collection to search.
        - ``cursor``: The `cursor` of an earlier answer to the same request: go on behind it, in the same
          generation of the collection, while that is kept.
        - ``counts``: Count all hits above the threshold by these keys of the metadata: `team`; `day:week` by
          `day`, `week` or `month`; `duration:60,600` by ranges with these borders.
        - ``sort``: What hits above the threshold are ordered by instead of their score: a key of the
          metadata, such as `day`, `part.start` or `document.id`, with `:desc` behind it for the greatest
          first. Hits without it come last, and equal ones are in the order of their scores. `score` is that
          order itself.
        - ``collapse``: Show one hit, the best, of those that have this in common: their `text`, or a key of
          the metadata. `copies` says how many it stands for.
        - ``per_document``: Maximum number of hits of one document: its best ones.
        - ``verify``: The number of best hits that a small network reads beside the phrase: it says `match`,
          `differs` or `unrelated`, and likely ones come first. By default 20 for one search and 0 in a batch;
          0 leaves the order of the first look.
        - ``likely``: Only hits whose `verdict` is `match`: a match is more probable than not.
        - ``text``: The origin phrase. Give this or `vector`; it must fit into one window of the encoder. In
          mode `maxsim` it may be a whole document.
        - ``vector``: A query vector, of any length but zero, instead of `text`. The collection's description
          says which dimension a mode compares.
        - ``query_units``: The number of units of the text that `vector` stands for; without it no span is
          discounted as too short.
        - ``mode``: How to search: `best_span` finds spans, `lexical` sentences by their words, `hybrid`
          sentences by meaning and words; the documentation describes all modes.
        - ``filter``: Metadata that must be equal, key by key: strings, numbers, booleans or null. A list
          matches if one of its elements does. Or, in `expression`, whatever else is asked of them.
        - ``stemming``: The language, such as `english`, of the words that modes `lexical` and `hybrid`
          compare by their stems: "cancelled" then matches "cancel". Phrases in quotes, prefixes and exact
          hits stay literal.
        - ``threshold``: Minimum similarity of a hit, or `auto`: a match is more probable than not. Without
          one the collection's applies, if it has one; 0 returns all hits.
        - ``threshold_on``: The scale of thresholds: `score`, or `raw`, from which a calibration makes it.
        - ``ranking``: What spans are ranked by: `span_score` is cosine, length and borders; `cosine` is the
          cosine alone, as in the paper, and knows no exact hits. Thresholds and counts follow it.
        - ``spans``: The lengths and boundaries of spans that can be hits.
        - ``offset_unit``: What `start` and `end` count: `codepoint` (Python), `utf16` (JavaScript, Java) or
          `byte` (UTF-8: Go, Rust).
        - ``context``: Characters of context on either side of a hit, within its part.
        - ``explain``: Say what the parts of a hit, such as its units, add to its score.
        - ``group_by``: `span` keeps all spans that do not overlap, which is the default, `part` and
          `document` the best of each; in mode `maxsim` there is `document` alone.
        - ``top_k``: Maximum number of hits.
        - ``offset``: The number of best hits to leave out, as on earlier pages; behind a `cursor`.
        - ``total``: Also count all hits exactly: documents and, with a threshold, spans. It takes about twice
          as long.
        - ``estimate``: Also estimate how many sentences of the whole collection are likely matches, with an
          interval: up to 200 more are judged, drawn at all ranks.
        """
        return read(
            models.SearchAnswer,
            (
                self._transport.request(
                    "POST",
                    "/search",
                    json={
                        "collection": collection,
                        "cursor": cursor,
                        "counts": counts,
                        "sort": sort,
                        "collapse": collapse,
                        "per_document": per_document,
                        "verify": verify,
                        "likely": likely,
                        "text": text,
                        "vector": vector,
                        "query_units": query_units,
                        "mode": mode,
                        "filter": filter,
                        "stemming": stemming,
                        "threshold": threshold,
                        "threshold_on": threshold_on,
                        "ranking": ranking,
                        "spans": spans,
                        "offset_unit": offset_unit,
                        "context": context,
                        "explain": explain,
                        "group_by": group_by,
                        "top_k": top_k,
                        "offset": offset,
                        "total": total,
                        "estimate": estimate,
                    },
                    repeatable=True,
                )
            ).content,
        )

    def search_batch(self, *, queries: Sequence[Mapping[str, object]]) -> models.SearchAnswers:
        """Answer several queries together, which is faster than one by one. A query that is invalid gets an
        error.

        - ``queries``: The queries; the server's settings say how many at most.
        """
        return read(
            models.SearchAnswers,
            (self._transport.request("POST", "/search/batch", json={"queries": queries}, repeatable=True)).content,
        )

    def search_collections(
        self,
        *,
        collections: Sequence[str],
        verify: int | None = None,
        likely: bool | None = None,
        text: str | None = None,
        vector: Sequence[float] | None = None,
        query_units: int | None = None,
        mode: str | None = None,
        filter: Mapping[str, object] | None = None,
        stemming: str | None = None,
        threshold: float | str | None = None,
        threshold_on: Literal["score", "raw"] | None = None,
        ranking: Literal["span_score", "cosine"] | None = None,
        spans: Mapping[str, object] | None = None,
        offset_unit: Literal["codepoint", "utf16", "byte"] | None = None,
        context: int | None = None,
        explain: bool | None = None,
        group_by: Literal["span", "part", "document"] | None = None,
        top_k: int | None = None,
        offset: int | None = None,
        total: bool | None = None,
        estimate: bool | None = None,
    ) -> models.CollectionsAnswer:
        """Find the best hits of several collections of one encoder, in one list.

        - ``collections``: The collections to search.
        - ``verify``: The number of best hits that a small network reads beside the phrase: it says `match`,
          `differs` or `unrelated`, and likely ones come first. By default 20 for one search and 0 in a batch;
          0 leaves the order of the first look.
        - ``likely``: Only hits whose `verdict` is `match`: a match is more probable than not.
        - ``text``: The origin phrase. Give this or `vector`; it must fit into one window of the encoder. In
          mode `maxsim` it may be a whole document.
        - ``vector``: A query vector, of any length but zero, instead of `text`. The collection's description
          says which dimension a mode compares.
        - ``query_units``: The number of units of the text that `vector` stands for; without it no span is
          discounted as too short.
        - ``mode``: How to search: `best_span` finds spans, `lexical` sentences by their words, `hybrid`
          sentences by meaning and words; the documentation describes all modes.
        - ``filter``: Metadata that must be equal, key by key: strings, numbers, booleans or null. A list
          matches if one of its elements does. Or, in `expression`, whatever else is asked of them.
        - ``stemming``: The language, such as `english`, of the words that modes `lexical` and `hybrid`
          compare by their stems: "cancelled" then matches "cancel". Phrases in quotes, prefixes and exact
          hits stay literal.
        - ``threshold``: Minimum similarity of a hit, or `auto`: a match is more probable than not. Without
          one the collection's applies, if it has one; 0 returns all hits.
        - ``threshold_on``: The scale of thresholds: `score`, or `raw`, from which a calibration makes it.
        - ``ranking``: What spans are ranked by: `span_score` is cosine, length and borders; `cosine` is the
          cosine alone, as in the paper, and knows no exact hits. Thresholds and counts follow it.
        - ``spans``: The lengths and boundaries of spans that can be hits.
        - ``offset_unit``: What `start` and `end` count: `codepoint` (Python), `utf16` (JavaScript, Java) or
          `byte` (UTF-8: Go, Rust).
        - ``context``: Characters of context on either side of a hit, within its part.
        - ``explain``: Say what the parts of a hit, such as its units, add to its score.
        - ``group_by``: `span` keeps all spans that do not overlap, which is the default, `part` and
          `document` the best of each; in mode `maxsim` there is `document` alone.
        - ``top_k``: Maximum number of hits.
        - ``offset``: The number of best hits to leave out, as on earlier pages; behind a `cursor`.
        - ``total``: Also count all hits exactly: documents and, with a threshold, spans. It takes about twice
          as long.
        - ``estimate``: Also estimate how many sentences of the whole collection are likely matches, with an
          interval: up to 200 more are judged, drawn at all ranks.
        """
        return read(
            models.CollectionsAnswer,
            (
                self._transport.request(
                    "POST",
                    "/search/collections",
                    json={
                        "collections": collections,
                        "verify": verify,
                        "likely": likely,
                        "text": text,
                        "vector": vector,
                        "query_units": query_units,
                        "mode": mode,
                        "filter": filter,
                        "stemming": stemming,
                        "threshold": threshold,
                        "threshold_on": threshold_on,
                        "ranking": ranking,
                        "spans": spans,
                        "offset_unit": offset_unit,
                        "context": context,
                        "explain": explain,
                        "group_by": group_by,
                        "top_k": top_k,
                        "offset": offset,
                        "total": total,
                        "estimate": estimate,
                    },
                    repeatable=True,
                )
            ).content,
        )

    def export_hits(
        self,
        *,
        collection: str,
        limit: int | None = None,
        likely: bool | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        sort: str | None = None,
        collapse: str | None = None,
        per_document: int | None = None,
        text: str | None = None,
        vector: Sequence[float] | None = None,
        query_units: int | None = None,
        mode: str | None = None,
        filter: Mapping[str, object] | None = None,
        stemming: str | None = None,
        threshold: float | str | None = None,
        threshold_on: Literal["score", "raw"] | None = None,
        ranking: Literal["span_score", "cosine"] | None = None,
        spans: Mapping[str, object] | None = None,
        offset_unit: Literal["codepoint", "utf16", "byte"] | None = None,
        context: int | None = None,
        explain: bool | None = None,
        group_by: Literal["span", "part", "document"] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Stream all hits of a query, all of one generation, in the format that `Accept` names; NDJSON without
        it.

        The last line of NDJSON, and the metadata `spanseek` of Parquet, say how many there are.

        - ``collection``: The collection to search.
        - ``limit``: Maximum number of hits; the last line says whether these are all.
        - ``likely``: Only hits whose `verdict` is `match`: a match is more probable than not.
        - ``offset``: The number of best hits to leave out: the `rank` of the last one that was read.
        - ``cursor``: The `cursor` of an earlier answer to the same request: go on behind it, in the same
          generation of the collection, while that is kept.
        - ``sort``: What hits above the threshold are ordered by instead of their score: a key of the
          metadata, such as `day`, `part.start` or `document.id`, with `:desc` behind it for the greatest
          first. Hits without it come last, and equal ones are in the order of their scores. `score` is that
          order itself.
        - ``collapse``: Show one hit, the best, of those that have this in common: their `text`, or a key of
          the metadata. `copies` says how many it stands for.
        - ``per_document``: Maximum number of hits of one document: its best ones.
        - ``text``: The origin phrase. Give this or `vector`; it must fit into one window of the encoder. In
          mode `maxsim` it may be a whole document.
        - ``vector``: A query vector, of any length but zero, instead of `text`. The collection's description
          says which dimension a mode compares.
        - ``query_units``: The number of units of the text that `vector` stands for; without it no span is
          discounted as too short.
        - ``mode``: How to search: `best_span` finds spans, `lexical` sentences by their words, `hybrid`
          sentences by meaning and words; the documentation describes all modes.
        - ``filter``: Metadata that must be equal, key by key: strings, numbers, booleans or null. A list
          matches if one of its elements does. Or, in `expression`, whatever else is asked of them.
        - ``stemming``: The language, such as `english`, of the words that modes `lexical` and `hybrid`
          compare by their stems: "cancelled" then matches "cancel". Phrases in quotes, prefixes and exact
          hits stay literal.
        - ``threshold``: Minimum similarity of a hit, or `auto`: a match is more probable than not. Without
          one the collection's applies, if it has one; 0 returns all hits.
        - ``threshold_on``: The scale of thresholds: `score`, or `raw`, from which a calibration makes it.
        - ``ranking``: What spans are ranked by: `span_score` is cosine, length and borders; `cosine` is the
          cosine alone, as in the paper, and knows no exact hits. Thresholds and counts follow it.
        - ``spans``: The lengths and boundaries of spans that can be hits.
        - ``offset_unit``: What `start` and `end` count: `codepoint` (Python), `utf16` (JavaScript, Java) or
          `byte` (UTF-8: Go, Rust).
        - ``context``: Characters of context on either side of a hit, within its part.
        - ``explain``: Say what the parts of a hit, such as its units, add to its score.
        - ``group_by``: `span` keeps all spans that do not overlap, which is the default, `part` and
          `document` the best of each; in mode `maxsim` there is `document` alone.
        """
        return self._transport.lines(
            "POST",
            "/search/export",
            json={
                "collection": collection,
                "limit": limit,
                "likely": likely,
                "offset": offset,
                "cursor": cursor,
                "sort": sort,
                "collapse": collapse,
                "per_document": per_document,
                "text": text,
                "vector": vector,
                "query_units": query_units,
                "mode": mode,
                "filter": filter,
                "stemming": stemming,
                "threshold": threshold,
                "threshold_on": threshold_on,
                "ranking": ranking,
                "spans": spans,
                "offset_unit": offset_unit,
                "context": context,
                "explain": explain,
                "group_by": group_by,
            },
            repeatable=True,
        )

    def mine(
        self,
        *,
        collection: str,
        phrases: Sequence[Mapping[str, object]],
        mode: str | None = None,
        filter: Mapping[str, object] | None = None,
        stemming: str | None = None,
        threshold: float | str | None = None,
        threshold_on: Literal["score", "raw"] | None = None,
        ranking: Literal["span_score", "cosine"] | None = None,
        spans: Mapping[str, object] | None = None,
        offset_unit: Literal["codepoint", "utf16", "byte"] | None = None,
        context: int | None = None,
        explain: bool | None = None,
        group_by: Literal["span", "part", "document"] | None = None,
        limit: int | None = None,
        count_by: Sequence[str] | None = None,
        copies_from: float | None = None,
        format: Literal["ndjson", "csv", "xlsx", "parquet"] | None = None,
    ) -> models.TaskDescription:
        """Queue a task that finds all hits above a threshold of up to 10,000 phrases, from few passes over
        memory.

        The key needs the scopes search and index: by the latter tasks are seen.

        - ``collection``: The collection to search.
        - ``phrases``: The phrases to mine.
        - ``mode``: How to search: `best_span` finds spans, `lexical` sentences by their words, `hybrid`
          sentences by meaning and words; the documentation describes all modes.
        - ``filter``: Metadata that must be equal, key by key: strings, numbers, booleans or null. A list
          matches if one of its elements does. Or, in `expression`, whatever else is asked of them.
        - ``stemming``: The language, such as `english`, of the words that modes `lexical` and `hybrid`
          compare by their stems: "cancelled" then matches "cancel". Phrases in quotes, prefixes and exact
          hits stay literal.
        - ``threshold``: Minimum similarity of a hit, or `auto`: a match is more probable than not. Without
          one the collection's applies, if it has one; 0 returns all hits.
        - ``threshold_on``: The scale of thresholds: `score`, or `raw`, from which a calibration makes it.
        - ``ranking``: What spans are ranked by: `span_score` is cosine, length and borders; `cosine` is the
          cosine alone, as in the paper, and knows no exact hits. Thresholds and counts follow it.
        - ``spans``: The lengths and boundaries of spans that can be hits.
        - ``offset_unit``: What `start` and `end` count: `codepoint` (Python), `utf16` (JavaScript, Java) or
          `byte` (UTF-8: Go, Rust).
        - ``context``: Characters of context on either side of a hit, within its part.
        - ``explain``: Say what the parts of a hit, such as its units, add to its score.
        - ``group_by``: `span` keeps all spans that do not overlap, which is the default, `part` and
          `document` the best of each; in mode `maxsim` there is `document` alone.
        - ``limit``: Maximum number of hits of a phrase; the table of counts says whether these are all.
        - ``count_by``: Metadata by whose values the hits of a phrase are counted: keys as in filters, such as
          `team`, `customer.country` or `part.speaker`.
        - ``copies_from``: The least `raw` of two phrases that are pointed out as near-copies.
        - ``format``: The form of the tables.
        """
        return read(
            models.TaskDescription,
            (
                self._transport.request(
                    "POST",
                    "/mine",
                    json={
                        "collection": collection,
                        "phrases": phrases,
                        "mode": mode,
                        "filter": filter,
                        "stemming": stemming,
                        "threshold": threshold,
                        "threshold_on": threshold_on,
                        "ranking": ranking,
                        "spans": spans,
                        "offset_unit": offset_unit,
                        "context": context,
                        "explain": explain,
                        "group_by": group_by,
                        "limit": limit,
                        "count_by": count_by,
                        "copies_from": copies_from,
                        "format": format,
                    },
                )
            ).content,
        )

    def get_mined(self, id: str, table: str) -> Iterator[dict[str, Any]]:
        """Send a table of a mining that is done; ranges are supported."""
        return self._transport.lines("GET", f"/mine/{quoted(id)}/{quoted(table)}", repeatable=True)

    def find_spans(
        self,
        *,
        phrases: Sequence[str],
        texts: Sequence[str | Mapping[str, object]],
        limit: int | None = None,
        verify: int | None = None,
        likely: bool | None = None,
        threshold: float | str | None = None,
        threshold_on: Literal["score", "raw"] | None = None,
        ranking: Literal["span_score", "cosine"] | None = None,
        spans: Mapping[str, object] | None = None,
        offset_unit: Literal["codepoint", "utf16", "byte"] | None = None,
        context: int | None = None,
        explain: bool | None = None,
    ) -> models.SpansAnswer:
        """Find the spans of every given text that mean the same as a phrase. Nothing is stored.

        - ``phrases``: The origin phrases; each fits into a window of the encoder.
        - ``texts``: Texts: strings, `{"id", "text", "metadata"}`, or with `"parts": [{"text", "metadata"}]`
          in place of `"text"`. Without an id, the id of a text is its number, from 0. Up to 1,000, with
          1,000,000 characters and 20,000 parts in all.
        - ``limit``: Maximum number of spans of a text for each phrase.
        - ``verify``: The number of best hits that a small network reads beside the phrase: it says `match`,
          `differs` or `unrelated`, and likely ones come first. By default 20 for one search and 0 in a batch;
          0 leaves the order of the first look.
        - ``likely``: Only hits whose `verdict` is `match`: a match is more probable than not.
        - ``threshold``: Minimum similarity of a hit, or `auto`: a match is more probable than not. Without
          one the collection's applies, if it has one; 0 returns all hits.
        - ``threshold_on``: The scale of thresholds: `score`, or `raw`, from which a calibration makes it.
        - ``ranking``: What spans are ranked by: `span_score` is cosine, length and borders; `cosine` is the
          cosine alone, as in the paper, and knows no exact hits. Thresholds and counts follow it.
        - ``spans``: The lengths and boundaries of spans that can be hits.
        - ``offset_unit``: What `start` and `end` count: `codepoint` (Python), `utf16` (JavaScript, Java) or
          `byte` (UTF-8: Go, Rust).
        - ``context``: Characters of context on either side of a hit, within its part.
        - ``explain``: Say what the parts of a hit, such as its units, add to its score.
        """
        return read(
            models.SpansAnswer,
            (
                self._transport.request(
                    "POST",
                    "/spans",
                    json={
                        "phrases": phrases,
                        "texts": texts,
                        "limit": limit,
                        "verify": verify,
                        "likely": likely,
                        "threshold": threshold,
                        "threshold_on": threshold_on,
                        "ranking": ranking,
                        "spans": spans,
                        "offset_unit": offset_unit,
                        "context": context,
                        "explain": explain,
                    },
                    repeatable=True,
                )
            ).content,
        )

    def make_vectors(self, *, texts: Sequence[str]) -> models.TextVectors:
        """Encode texts into vectors from which `POST /restore` writes them again. They are as confidential as
        the texts.

        - ``texts``: Texts of at most 256 tokens, about six sentences; a longer one is refused.
        """
        return read(
            models.TextVectors,
            (self._transport.request("POST", "/vectors", json={"texts": texts}, repeatable=True)).content,
        )

    def restore(
        self,
        *,
        vectors: Sequence[Sequence[Sequence[float]]] | None = None,
        fingerprint: str | None = None,
        collection: str | None = None,
        spans: Sequence[Mapping[str, object]] | None = None,
        beams: int | None = None,
        warn_below: float | None = None,
    ) -> models.RestoreAnswer:
        """Write the texts of vectors, or of stored sentences, with the confidence of every token.

        - ``vectors``: For every text its vectors, as `POST /vectors` gives them.
        - ``fingerprint``: The fingerprint of `vectors`, which need it: vectors of another model are refused.
        - ``collection``: The collection of `spans`.
        - ``spans``: Spans such as hits, in code points: the sentences that they touch are restored.
        - ``beams``: Beams of the search for the most probable text.
        - ``warn_below``: Warn of texts of a lower confidence; without it `SPANSEEK_RESTORE_WARN_BELOW`.
        """
        return read(
            models.RestoreAnswer,
            (
                self._transport.request(
                    "POST",
                    "/restore",
                    json={
                        "vectors": vectors,
                        "fingerprint": fingerprint,
                        "collection": collection,
                        "spans": spans,
                        "beams": beams,
                        "warn_below": warn_below,
                    },
                    repeatable=True,
                )
            ).content,
        )

    def list_collections(self) -> models.CollectionList:
        """List the collections that the caller may search."""
        return read(models.CollectionList, (self._transport.request("GET", "/collections", repeatable=True)).content)

    def get_collection(self, collection: str) -> models.CollectionDescription:
        """Describe a collection."""
        return read(
            models.CollectionDescription,
            (self._transport.request("GET", f"/collections/{quoted(collection)}", repeatable=True)).content,
        )

    def create_collection(
        self,
        collection: str,
        *,
        representations: Mapping[str, object] | None = None,
        store_text: bool | None = None,
        facets: bool | None = None,
        nugget_ratio: float | None = None,
        restorable: bool | None = None,
        words: bool | None = None,
        encoder: str | None = None,
        span_units: Mapping[str, object] | None = None,
    ) -> models.CollectionDescription:
        """Create a collection: 201, or 200 if it exists with the same recipe.

        - ``representations``: Representations to store by name, each with its options; null for one that is
          not to be stored.
        - ``store_text``: Store texts; without them the texts of hits are restored from vectors, and may
          differ.
        - ``facets``: Store the facets of sentences, which mode facets needs.
        - ``nugget_ratio``: Store nuggets, for mode maxsim: this share of all tokens, 0.05 to 0.25.
        - ``restorable``: Store vectors that give sentences back, which mode restorable needs.
        - ``words``: Store words, which modes that read words need.
        - ``encoder``: The encoder that reads documents and queries; without one the server's
          (`SPANSEEK_ENCODER`). One with a backbone of its own is named on the command line only.
        - ``span_units``: The bounds of a span's length, in units.
        """
        return read(
            models.CollectionDescription,
            (
                self._transport.request(
                    "PUT",
                    f"/collections/{quoted(collection)}",
                    json={
                        "representations": representations,
                        "store_text": store_text,
                        "facets": facets,
                        "nugget_ratio": nugget_ratio,
                        "restorable": restorable,
                        "words": words,
                        "encoder": encoder,
                        "span_units": span_units,
                    },
                    repeatable=True,
                )
            ).content,
        )

    def delete_collection(self, collection: str) -> models.DeletedCollection:
        """Delete a collection with all its data; running searches finish."""
        return read(
            models.DeletedCollection,
            (self._transport.request("DELETE", f"/collections/{quoted(collection)}", repeatable=True)).content,
        )

    def list_aliases(self) -> models.AliasList:
        """List the aliases that the caller may search, and the collections that they name."""
        return read(models.AliasList, (self._transport.request("GET", "/aliases", repeatable=True)).content)

    def change_aliases(self, *, aliases: Mapping[str, object]) -> models.AliasList:
        """Set and delete aliases in one transaction: no search sees one change without the others.

        - ``aliases``: The collection of each alias; null deletes the alias.
        """
        return read(models.AliasList, (self._transport.request("PATCH", "/aliases", json={"aliases": aliases})).content)

    def put_alias(self, alias: str, *, collection: str) -> models.AliasList:
        """Let an alias name a collection, from the next search on.

        - ``collection``: The collection to name.
        """
        return read(
            models.AliasList,
            (
                self._transport.request(
                    "PUT", f"/aliases/{quoted(alias)}", json={"collection": collection}, repeatable=True
                )
            ).content,
        )

    def delete_alias(self, alias: str) -> models.AliasList:
        """Delete an alias. The collection stays."""
        return read(
            models.AliasList,
            (self._transport.request("DELETE", f"/aliases/{quoted(alias)}", repeatable=True)).content,
        )

    def list_documents(
        self, collection: str, *, limit: int | None = None, cursor: str | None = None, filter: str | None = None
    ) -> models.DocumentPage:
        """List the documents of a collection by id, with their metadata and the beginnings of their texts.

        - ``limit``: Maximum number of documents.
        - ``cursor``: The `cursor` of the previous page.
        - ``filter``: A filter as in a search: an expression such as `duration >= 600`, or JSON, `{"document":
          {...}, "part": {...}}`. A document passes what is asked of parts if one of them does.
        """
        return read(
            models.DocumentPage,
            (
                self._transport.request(
                    "GET",
                    f"/collections/{quoted(collection)}/documents",
                    params={"limit": limit, "cursor": cursor, "filter": filter},
                    repeatable=True,
                )
            ).content,
        )

    def put_documents(
        self,
        collection: str,
        content: Content,
        *,
        content_type: str = "application/x-ndjson",
        content_encoding: str | None = None,
    ) -> models.WrittenDocuments | models.TaskDescription:
        """Index documents, replacing those with the same ids; unchanged ones are skipped.

        A large body that is not indexed in time is answered 202, with the task that goes on.
        """
        response = self._transport.request(
            "POST",
            f"/collections/{quoted(collection)}/documents",
            content=content,
            content_type=content_type,
            content_encoding=content_encoding,
            repeatable=True,
        )
        if response.status_code == 202:
            return read(models.TaskDescription, response.content)
        return read(models.WrittenDocuments, response.content)

    def delete_documents(
        self, collection: str, *, ids: Sequence[str], id: Sequence[str] | None = None
    ) -> models.DeletedDocuments:
        """Delete the documents named in the body or the query.

        - ``ids``: Ids of documents; those that are not there do no harm.
        - ``id``: Id of a document; repeat for several.
        """
        return read(
            models.DeletedDocuments,
            (
                self._transport.request(
                    "DELETE",
                    f"/collections/{quoted(collection)}/documents",
                    params={"id": id},
                    json={"ids": ids},
                    repeatable=True,
                )
            ).content,
        )

    def get_document(
        self,
        collection: str,
        document_id: str,
        *,
        offset_unit: Literal["codepoint", "utf16", "byte"] | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> models.StoredDocument:
        """Read a document: its text, its parts with their offsets and metadata, and its own metadata.

        With `start` or `end`, a part of the text and the parts that this touches: their offsets refer to the
        whole text.

        - ``offset_unit``: As in a search, for the offsets of parts.
        - ``start``: Read the text from this offset on.
        - ``end``: Read the text up to this offset.
        """
        return read(
            models.StoredDocument,
            (
                self._transport.request(
                    "GET",
                    f"/collections/{quoted(collection)}/documents/{quoted(document_id)}",
                    params={"offset_unit": offset_unit, "start": start, "end": end},
                    repeatable=True,
                )
            ).content,
        )

    def change_document(
        self,
        collection: str,
        document_id: str,
        *,
        metadata: Mapping[str, object] | None = None,
        remove: Sequence[str] | None = None,
    ) -> models.ChangedDocument:
        """Set and remove keys of a document's metadata. Its text is not encoded again.

        - ``metadata``: The keys to set, with their values.
        - ``remove``: The keys to remove.
        """
        return read(
            models.ChangedDocument,
            (
                self._transport.request(
                    "PATCH",
                    f"/collections/{quoted(collection)}/documents/{quoted(document_id)}",
                    json={"metadata": metadata, "remove": remove},
                )
            ).content,
        )

    def delete_document(self, collection: str, document_id: str) -> models.DeletedDocuments:
        """Delete one document; an unknown id is not an error."""
        return read(
            models.DeletedDocuments,
            (
                self._transport.request(
                    "DELETE", f"/collections/{quoted(collection)}/documents/{quoted(document_id)}", repeatable=True
                )
            ).content,
        )

    def delete_documents_by_filter(
        self, collection: str, *, filter: Mapping[str, object], dry_run: bool | None = None
    ) -> models.DeletedByFilter:
        """Delete all documents that pass a filter, which must not be empty; says how many.

        - ``filter``: The metadata of the documents; a document passes `part` if one of its parts does. Not
          empty.
        - ``dry_run``: Only count.
        """
        return read(
            models.DeletedByFilter,
            (
                self._transport.request(
                    "POST",
                    f"/collections/{quoted(collection)}/documents/delete",
                    json={"filter": filter, "dry_run": dry_run},
                    repeatable=True,
                )
            ).content,
        )

    def export_documents(
        self, collection: str, *, cursor: str | None = None, offset: int | None = None, filter: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Stream the documents of one generation that pass a filter, with their texts, in the format that
        `Accept` names.

        NDJSON, without it, has a document a line, CSV and Parquet have a row for each part.

        - ``cursor``: `Spanseek-Cursor` of an export that was cut off.
        - ``offset``: The number of documents to leave out.
        - ``filter``: A filter as in a search: an expression such as `duration >= 600`, or JSON, `{"document":
          {...}, "part": {...}}`. A document passes what is asked of parts if one of them does.
        """
        return self._transport.lines(
            "GET",
            f"/collections/{quoted(collection)}/export",
            params={"cursor": cursor, "offset": offset, "filter": filter},
            repeatable=True,
        )

    def count_metadata(
        self, collection: str, *, limit: int | None = None, filter: str | None = None
    ) -> models.MetadataCounts:
        """Count the documents that have each value of the collection's metadata, and pass a filter.

        - ``limit``: Maximum number of values of a key; `distinct` says how many there are.
        - ``filter``: A filter as in a search: an expression such as `duration >= 600`, or JSON, `{"document":
          {...}, "part": {...}}`. A document passes what is asked of parts if one of them does.
        """
        return read(
            models.MetadataCounts,
            (
                self._transport.request(
                    "GET",
                    f"/collections/{quoted(collection)}/metadata",
                    params={"limit": limit, "filter": filter},
                    repeatable=True,
                )
            ).content,
        )

    def list_phrases(
        self, collection: str, *, limit: int | None = None, cursor: str | None = None, tag: Sequence[str] | None = None
    ) -> models.PhrasePage:
        """List the saved phrases of a collection, by name.

        - ``limit``: Maximum number of phrases.
        - ``cursor``: The `cursor` of the previous page.
        - ``tag``: Only phrases with this tag; repeat for any of several.
        """
        return read(
            models.PhrasePage,
            (
                self._transport.request(
                    "GET",
                    f"/collections/{quoted(collection)}/phrases",
                    params={"limit": limit, "cursor": cursor, "tag": tag},
                    repeatable=True,
                )
            ).content,
        )

    def create_phrase(
        self,
        collection: str,
        *,
        text: str,
        name: str | None = None,
        threshold: float | str | None = None,
        threshold_on: Literal["score", "raw"] | None = None,
        filter: Mapping[str, object] | None = None,
        note: str | None = None,
        tags: Sequence[str] | None = None,
        paused: bool | None = None,
        likely_only: bool | None = None,
        backfill: bool | None = None,
    ) -> models.PhraseDescription:
        """Save a phrase under a new name. It is matched against the documents that are there, and every new
        one.

        - ``text``: The origin phrase; it must fit into one window of the encoder.
        - ``name``: The phrase's name, without `/`; by default its text.
        - ``threshold``: Minimum similarity of a match; by default the collection's threshold. `auto`: likely
          matches alone, as `likely_only`, above the raw from which on a match is more probable than not.
        - ``threshold_on``: The scale of the threshold.
        - ``filter``: As in a search: the documents and parts to match.
        - ``note``: Stored with the phrase.
        - ``tags``: The groups that it belongs to.
        - ``paused``: Save it without matching it.
        - ``likely_only``: Leave out matches that the second look does not call likely.
        - ``backfill``: Also match existing documents: at once, or by a task if that takes long.
        """
        return read(
            models.PhraseDescription,
            (
                self._transport.request(
                    "POST",
                    f"/collections/{quoted(collection)}/phrases",
                    json={
                        "text": text,
                        "name": name,
                        "threshold": threshold,
                        "threshold_on": threshold_on,
                        "filter": filter,
                        "note": note,
                        "tags": tags,
                        "paused": paused,
                        "likely_only": likely_only,
                        "backfill": backfill,
                    },
                )
            ).content,
        )

    def import_phrases(
        self,
        collection: str,
        content: Content,
        *,
        backfill: bool | None = None,
        content_type: str = "application/x-ndjson",
        content_encoding: str | None = None,
    ) -> models.ImportedPhrases:
        """Save phrases; they replace phrases of the same names. Errors are reported per line; valid lines are
        imported.

        - ``backfill``: Also match existing documents: at once, or by a task if that takes long.
        """
        return read(
            models.ImportedPhrases,
            (
                self._transport.request(
                    "POST",
                    f"/collections/{quoted(collection)}/phrases/import",
                    params={"backfill": backfill},
                    content=content,
                    content_type=content_type,
                    content_encoding=content_encoding,
                )
            ).content,
        )

    def get_phrase(self, collection: str, name: str) -> models.PhraseDescription:
        """Read a phrase, and the threshold that applies to it."""
        return read(
            models.PhraseDescription,
            (
                self._transport.request(
                    "GET", f"/collections/{quoted(collection)}/phrases/{quoted(name)}", repeatable=True
                )
            ).content,
        )

    def change_phrase(
        self,
        collection: str,
        name: str,
        *,
        text: str | None = None,
        filter: Mapping[str, object] | None = None,
        note: str | None = None,
        tags: Sequence[str] | None = None,
        paused: bool | None = None,
        likely_only: bool | None = None,
        backfill: bool | None = None,
    ) -> models.PhraseDescription:
        """Change fields of a phrase. If text, filter or likely_only change, its matches are withdrawn and
        found anew.

        - ``text``: A new origin phrase.
        - ``filter``: A new filter.
        - ``note``: A new note.
        - ``tags``: The groups that it belongs to from now on; its matches follow it.
        - ``paused``: Whether it is matched no longer, or again.
        - ``likely_only``: Whether unlikely matches are left out.
        - ``backfill``: If text, filter or likely_only change, or a pause ends, also match existing documents.
        """
        return read(
            models.PhraseDescription,
            (
                self._transport.request(
                    "PATCH",
                    f"/collections/{quoted(collection)}/phrases/{quoted(name)}",
                    json={
                        "text": text,
                        "filter": filter,
                        "note": note,
                        "tags": tags,
                        "paused": paused,
                        "likely_only": likely_only,
                        "backfill": backfill,
                    },
                )
            ).content,
        )

    def delete_phrase(self, collection: str, name: str) -> models.DeletedPhrase:
        """Delete a phrase with its thresholds; its matches are withdrawn."""
        return read(
            models.DeletedPhrase,
            (
                self._transport.request(
                    "DELETE", f"/collections/{quoted(collection)}/phrases/{quoted(name)}", repeatable=True
                )
            ).content,
        )

    def backfill_phrase(self, collection: str, name: str) -> models.Rematched:
        """Update the phrase's matches to the current hits of a search with its threshold."""
        return read(
            models.Rematched,
            (
                self._transport.request("POST", f"/collections/{quoted(collection)}/phrases/{quoted(name)}/backfill")
            ).content,
        )

    def get_phrase_threshold(self, collection: str, name: str) -> models.PhraseDescription:
        """Read a phrase with its own threshold, and the one that applies."""
        return read(
            models.PhraseDescription,
            (
                self._transport.request(
                    "GET", f"/collections/{quoted(collection)}/phrases/{quoted(name)}/threshold", repeatable=True
                )
            ).content,
        )

    def put_phrase_threshold(
        self,
        collection: str,
        name: str,
        *,
        value: float | None,
        on: Literal["score", "raw"] | None = None,
        note: str | None = None,
    ) -> models.PhraseDescription:
        """Set the phrase's own threshold for later documents; existing matches are unchanged.

        - ``value``: Minimum similarity of a match; null: the collection's threshold applies.
        - ``on``: The scale of the value.
        - ``note``: The reason; stored in the history.
        """
        return read(
            models.PhraseDescription,
            (
                self._transport.request(
                    "PUT",
                    f"/collections/{quoted(collection)}/phrases/{quoted(name)}/threshold",
                    json={"value": value, "on": on, "note": note},
                    nulls=["value"],
                    repeatable=True,
                )
            ).content,
        )

    def get_phrase_threshold_history(self, collection: str, name: str) -> models.ThresholdHistory:
        """List all changes, the newest first."""
        return read(
            models.ThresholdHistory,
            (
                self._transport.request(
                    "GET",
                    f"/collections/{quoted(collection)}/phrases/{quoted(name)}/threshold/history",
                    repeatable=True,
                )
            ).content,
        )

    def undo_phrase_threshold(self, collection: str, name: str, *, note: str | None = None) -> models.PhraseDescription:
        """Undo the last change; a second call undoes the change before it.

        - ``note``: The reason; stored in the history.
        """
        return read(
            models.PhraseDescription,
            (
                self._transport.request(
                    "POST",
                    f"/collections/{quoted(collection)}/phrases/{quoted(name)}/threshold/undo",
                    json={"note": note},
                )
            ).content,
        )

    def read_matches(
        self,
        collection: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        phrase: Sequence[str] | None = None,
        tag: Sequence[str] | None = None,
    ) -> models.EventPage:
        """Read the events after a cursor. Send the returned cursor with the next request.

        - ``cursor``: The cursor of the previous answer; without it, all events.
        - ``limit``: Maximum number of events.
        - ``phrase``: Only this phrase; repeat for several.
        - ``tag``: Only phrases with this tag; repeat for any of several.
        """
        return read(
            models.EventPage,
            (
                self._transport.request(
                    "GET",
                    f"/collections/{quoted(collection)}/matches",
                    params={"cursor": cursor, "limit": limit, "phrase": phrase, "tag": tag},
                    repeatable=True,
                )
            ).content,
        )

    def stream_matches(
        self,
        collection: str,
        *,
        cursor: str | None = None,
        phrase: Sequence[str] | None = None,
        tag: Sequence[str] | None = None,
        wait: float | None = None,
    ) -> Iterator[dict[str, str]]:
        """Read the events after a cursor as server-sent events, and then those that arrive.

        - ``cursor``: As in the list of matches; `Last-Event-ID` comes before it.
        - ``phrase``: Only this phrase; repeat for several.
        - ``tag``: Only phrases with this tag; repeat for any of several.
        - ``wait``: Seconds after which the stream ends.
        """
        return self._transport.events(
            "GET",
            f"/collections/{quoted(collection)}/matches/stream",
            params={"cursor": cursor, "phrase": phrase, "tag": tag, "wait": wait},
            repeatable=True,
        )

    def get_match(self, collection: str, match: str, *, context: int | None = None) -> models.MatchText:
        """Read a match that stands, with its text and its neighbours.

        - ``context``: Code points of text on each side of the span.
        """
        return read(
            models.MatchText,
            (
                self._transport.request(
                    "GET",
                    f"/collections/{quoted(collection)}/matches/{quoted(match)}",
                    params={"context": context},
                    repeatable=True,
                )
            ).content,
        )

    def get_thresholds(self, collection: str) -> models.ModeThresholds:
        """List the threshold of every mode, under the active calibration."""
        return read(
            models.ModeThresholds,
            (
                self._transport.request("GET", f"/admin/collections/{quoted(collection)}/thresholds", repeatable=True)
            ).content,
        )

    def put_threshold(
        self,
        collection: str,
        *,
        value: float | None,
        mode: str | None = None,
        on: Literal["score", "raw"] | None = None,
        note: str | None = None,
    ) -> models.ModeThreshold:
        """Set the default threshold of searches; null removes it.

        - ``mode``: The mode of the threshold.
        - ``value``: The default minimum similarity of hits; null removes it.
        - ``on``: The scale of the value.
        - ``note``: The reason; stored in the history.
        """
        return read(
            models.ModeThreshold,
            (
                self._transport.request(
                    "PUT",
                    f"/admin/collections/{quoted(collection)}/thresholds",
                    json={"mode": mode, "value": value, "on": on, "note": note},
                    nulls=["value"],
                    repeatable=True,
                )
            ).content,
        )

    def propose_thresholds(
        self, collection: str, *, labels: Sequence[Mapping[str, object]], precision: float | None = None
    ) -> models.PhraseThresholds:
        """Propose a threshold for every labelled phrase, with the interval of its precision. Nothing is set.

        - ``labels``: At least 5 of every phrase, better 20, as for a calibration; label candidates are a good
          choice.
        - ``precision``: The precision that each phrase is to have.
        """
        return read(
            models.PhraseThresholds,
            (
                self._transport.request(
                    "POST",
                    f"/admin/collections/{quoted(collection)}/thresholds/propose",
                    json={"labels": labels, "precision": precision},
                )
            ).content,
        )

    def get_threshold_history(self, collection: str, *, mode: str | None = None) -> models.ThresholdHistory:
        """List all changes, the newest first.

        - ``mode``: The mode of the threshold.
        """
        return read(
            models.ThresholdHistory,
            (
                self._transport.request(
                    "GET",
                    f"/admin/collections/{quoted(collection)}/thresholds/history",
                    params={"mode": mode},
                    repeatable=True,
                )
            ).content,
        )

    def undo_threshold(
        self, collection: str, *, mode: str | None = None, note: str | None = None
    ) -> models.ModeThreshold:
        """Undo the last change; a second call undoes the change before it.

        - ``mode``: The mode of the threshold.
        - ``note``: The reason; stored in the history.
        """
        return read(
            models.ModeThreshold,
            (
                self._transport.request(
                    "POST",
                    f"/admin/collections/{quoted(collection)}/thresholds/undo",
                    json={"mode": mode, "note": note},
                )
            ).content,
        )

    def preview_threshold(
        self,
        collection: str,
        *,
        mode: str | None = None,
        filter: Mapping[str, object] | None = None,
        stemming: str | None = None,
        threshold: float | str | None = None,
        threshold_on: Literal["score", "raw"] | None = None,
        ranking: Literal["span_score", "cosine"] | None = None,
        spans: Mapping[str, object] | None = None,
        phrases: Sequence[str] | None = None,
        saved: Sequence[str] | str | None = None,
        floor: float | None = None,
        examples: int | None = None,
    ) -> models.Preview:
        """Count, exactly and over the whole collection, the hits of every threshold. Changes nothing.

        - ``mode``: How to search: `best_span` finds spans, `lexical` sentences by their words, `hybrid`
          sentences by meaning and words; the documentation describes all modes.
        - ``filter``: Metadata that must be equal, key by key: strings, numbers, booleans or null. A list
          matches if one of its elements does. Or, in `expression`, whatever else is asked of them.
        - ``stemming``: The language, such as `english`, of the words that modes `lexical` and `hybrid`
          compare by their stems: "cancelled" then matches "cancel". Phrases in quotes, prefixes and exact
          hits stay literal.
        - ``threshold``: Minimum similarity of a hit, or `auto`: a match is more probable than not. Without
          one the collection's applies, if it has one; 0 returns all hits.
        - ``threshold_on``: The scale of thresholds: `score`, or `raw`, from which a calibration makes it.
        - ``ranking``: What spans are ranked by: `span_score` is cosine, length and borders; `cosine` is the
          cosine alone, as in the paper, and knows no exact hits. Thresholds and counts follow it.
        - ``spans``: The lengths and boundaries of spans that can be hits.
        - ``phrases``: Origin phrases.
        - ``saved``: Names of saved phrases, or `"all"`. If the request has no threshold or no filter, their
          own apply.
        - ``floor``: The lowest similarity of counted spans, on the scale of the threshold, which is the
          default. A low one takes time and memory.
        - ``examples``: Maximum number of documents just above the threshold, and just below it.
        """
        return read(
            models.Preview,
            (
                self._transport.request(
                    "POST",
                    f"/admin/collections/{quoted(collection)}/thresholds/preview",
                    json={
                        "mode": mode,
                        "filter": filter,
                        "stemming": stemming,
                        "threshold": threshold,
                        "threshold_on": threshold_on,
                        "ranking": ranking,
                        "spans": spans,
                        "phrases": phrases,
                        "saved": saved,
                        "floor": floor,
                        "examples": examples,
                    },
                    repeatable=True,
                )
            ).content,
        )

    def list_calibrations(self, collection: str) -> models.CalibrationList:
        """List the collection's calibrations, the newest first."""
        return read(
            models.CalibrationList,
            (
                self._transport.request("GET", f"/admin/collections/{quoted(collection)}/calibrations", repeatable=True)
            ).content,
        )

    def calibrate(
        self,
        collection: str,
        *,
        labels: Sequence[Mapping[str, object]],
        mode: str | None = None,
        note: str | None = None,
        activate: bool | None = None,
        precision: float | None = None,
        recall: float | None = None,
    ) -> models.FittedCalibration:
        """Fit an increasing map from raw to score and store it. If labels are refused, nothing is stored.

        - ``labels``: At least 20 different ones: `phrase`; `text`, or `span` of a document of the collection
          (`document_id`, `start`, `end` in code points); `match`, or `degree` from 0 (nothing in common) to 5
          (the same), where 4 and more is a match; of a label candidate its `probability` and `stratum`. All
          labels have a probability, or none has.
        - ``mode``: The mode whose scores are calibrated.
        - ``note``: A note, stored with the calibration.
        - ``activate``: Activate the calibration in the same transaction.
        - ``precision``: The target precision of a suggested threshold.
        - ``recall``: The target recall of a suggested threshold.
        """
        return read(
            models.FittedCalibration,
            (
                self._transport.request(
                    "POST",
                    f"/admin/collections/{quoted(collection)}/calibrations",
                    json={
                        "labels": labels,
                        "mode": mode,
                        "note": note,
                        "activate": activate,
                        "precision": precision,
                        "recall": recall,
                    },
                )
            ).content,
        )

    def import_calibration(
        self,
        collection: str,
        *,
        fingerprint: str,
        span_units: Mapping[str, object],
        knots: Sequence[Sequence[float]],
        method: Literal["isotonic", "logistic"],
        labels: int,
        mode: str | None = None,
        note: str | None = None,
        activate: bool | None = None,
        figures: Mapping[str, object] | None = None,
        id: str | None = None,
        active: bool | None = None,
        created_at: str | None = None,
    ) -> models.CalibrationDescription:
        """Import a calibration with the same encoder, mode and span bounds; others are refused.

        - ``fingerprint``: The fingerprint of its encoder.
        - ``span_units``: Its span bounds.
        - ``mode``: Its mode.
        - ``knots``: Pairs of raw and score, both increasing from 0 to 1.
        - ``method``: The method of fitting.
        - ``labels``: The number of labels.
        - ``note``: A note, stored with the calibration.
        - ``activate``: Activate the calibration in the same transaction.
        - ``figures``: As listed; stored with the calibration.
        - ``id``: As listed; ignored: the copy gets its own id.
        - ``active``: As listed; ignored.
        - ``created_at``: As listed; ignored.
        """
        return read(
            models.CalibrationDescription,
            (
                self._transport.request(
                    "POST",
                    f"/admin/collections/{quoted(collection)}/calibrations/import",
                    json={
                        "fingerprint": fingerprint,
                        "span_units": span_units,
                        "mode": mode,
                        "knots": knots,
                        "method": method,
                        "labels": labels,
                        "note": note,
                        "activate": activate,
                        "figures": figures,
                        "id": id,
                        "active": active,
                        "created_at": created_at,
                    },
                )
            ).content,
        )

    def activate_calibration(self, collection: str, id: str) -> models.CalibrationDescription:
        """Activate a calibration atomically; the collection's threshold still selects the same hits."""
        return read(
            models.CalibrationDescription,
            (
                self._transport.request(
                    "POST", f"/admin/collections/{quoted(collection)}/calibrations/{quoted(id)}/activate"
                )
            ).content,
        )

    def deactivate_calibration(self, collection: str, id: str) -> models.CalibrationDescription:
        """Deactivate a calibration; score then equals raw."""
        return read(
            models.CalibrationDescription,
            (
                self._transport.request(
                    "POST", f"/admin/collections/{quoted(collection)}/calibrations/{quoted(id)}/deactivate"
                )
            ).content,
        )

    def delete_calibration(self, collection: str, id: str) -> models.DeletedCalibration:
        """Delete an inactive calibration. Thresholds that were set under it still select the same hits."""
        return read(
            models.DeletedCalibration,
            (
                self._transport.request(
                    "DELETE", f"/admin/collections/{quoted(collection)}/calibrations/{quoted(id)}", repeatable=True
                )
            ).content,
        )

    def propose_label_candidates(
        self,
        collection: str,
        *,
        phrase: Sequence[str],
        count: int | None = None,
        seed: int | None = None,
        mode: str | None = None,
        threshold: float | None = None,
        threshold_on: Literal["score", "raw"] | None = None,
        floor: float | None = None,
        filter: str | None = None,
    ) -> models.LabelCandidates:
        """Draw pairs with known probabilities from strata of raw, most of them near the threshold.

        - ``phrase``: An origin phrase; repeat for several.
        - ``count``: The number of pairs.
        - ``seed``: The seed: on one generation it draws the same pairs.
        - ``mode``: How similarity is measured.
        - ``threshold``: Most pairs are drawn near it; else near the collection's, or near a score of 0.8.
        - ``threshold_on``: The scale of the threshold and the floor.
        - ``floor``: Draw from all spans that reach it, instead of from the best of each document.
        - ``filter``: As in a search: an expression, or JSON such as `{"document": {"lang": "en"}}`. Draw from
          spans that pass it.
        """
        return read(
            models.LabelCandidates,
            (
                self._transport.request(
                    "GET",
                    f"/admin/collections/{quoted(collection)}/label-candidates",
                    params={
                        "phrase": phrase,
                        "count": count,
                        "seed": seed,
                        "mode": mode,
                        "threshold": threshold,
                        "threshold_on": threshold_on,
                        "floor": floor,
                        "filter": filter,
                    },
                    repeatable=True,
                )
            ).content,
        )

    def import_documents(
        self,
        collection: str,
        content: Content,
        *,
        id_column: str | None = None,
        text_column: str | None = None,
        part_column: str | None = None,
        metadata_columns: Sequence[str] | None = None,
        row_ids: str | None = None,
        delimiter: str | None = None,
        quote: str | None = None,
        typed: bool | None = None,
        content_type: str = "application/x-ndjson",
        content_encoding: str | None = None,
    ) -> models.TaskDescription:
        """Receive documents as a stream, to the disk, and index them as a task: what is accepted will be
        indexed.

        - ``id_column``: Column of ids; `id` without it.
        - ``text_column``: Column of texts; `text` without it.
        - ``part_column``: Rows of one id are the parts of one document, in this order.
        - ``metadata_columns``: Columns of metadata; all others without it.
        - ``row_ids``: Make ids of this name and the row's number, such as `notes.csv:7`.
        - ``delimiter``: The sign between cells; detected without it.
        - ``quote``: The sign around cells, `"` without it; `none` for tables without quoting.
        - ``typed``: Read columns of numbers and of true and false as such.
        """
        return read(
            models.TaskDescription,
            (
                self._transport.request(
                    "POST",
                    f"/collections/{quoted(collection)}/documents/import",
                    params={
                        "id_column": id_column,
                        "text_column": text_column,
                        "part_column": part_column,
                        "metadata_columns": metadata_columns,
                        "row_ids": row_ids,
                        "delimiter": delimiter,
                        "quote": quote,
                        "typed": typed,
                    },
                    content=content,
                    content_type=content_type,
                    content_encoding=content_encoding,
                )
            ).content,
        )

    def add_file(
        self,
        collection: str,
        content: Content,
        *,
        name: str,
        id_column: str | None = None,
        text_column: str | None = None,
        part_column: str | None = None,
        metadata_columns: Sequence[str] | None = None,
        row_ids: str | None = None,
        delimiter: str | None = None,
        quote: str | None = None,
        typed: bool | None = None,
        encoding: str | None = None,
        records: str | None = None,
        comments: bool | None = None,
        content_type: str = "application/octet-stream",
        content_encoding: str | None = None,
    ) -> models.TaskDescription:
        """Receive a file as it is, and read and index it as a task: PDF, Office, e-mail, tables, text and
        others.

        - ``id_column``: Column of ids; `id` without it.
        - ``text_column``: Column of texts; `text` without it.
        - ``part_column``: Rows of one id are the parts of one document, in this order.
        - ``metadata_columns``: Columns of metadata; all others without it.
        - ``row_ids``: Make ids of this name and the row's number, such as `notes.csv:7`.
        - ``delimiter``: The sign between cells; detected without it.
        - ``quote``: The sign around cells, `"` without it; `none` for tables without quoting.
        - ``typed``: Read columns of numbers and of true and false as such.
        - ``name``: Its name, which says by its ending what it is; the id of a file that is one document.
        - ``encoding``: Encoding of tables and texts, as Python names it.
        - ``records``: Field of a JSON object that holds the records.
        - ``comments``: Read comments of documents and slides, and notes stuck to a PDF.
        """
        return read(
            models.TaskDescription,
            (
                self._transport.request(
                    "POST",
                    f"/collections/{quoted(collection)}/files",
                    params={
                        "id_column": id_column,
                        "text_column": text_column,
                        "part_column": part_column,
                        "metadata_columns": metadata_columns,
                        "row_ids": row_ids,
                        "delimiter": delimiter,
                        "quote": quote,
                        "typed": typed,
                        "name": name,
                        "encoding": encoding,
                        "records": records,
                        "comments": comments,
                    },
                    content=content,
                    content_type=content_type,
                    content_encoding=content_encoding,
                )
            ).content,
        )

    def create_task(self, body: Mapping[str, object]) -> models.TaskDescription:
        """Queue long work. Tasks of one collection run one after the other, in their order."""
        return read(models.TaskDescription, (self._transport.request("POST", "/tasks", json=body)).content)

    def list_tasks(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        collection: Sequence[str] | None = None,
        kind: Sequence[
            Literal["upload", "reindex", "optimize", "purge", "backfill", "calibration", "snapshot", "restore", "mine"]
        ]
        | None = None,
        status: Sequence[Literal["receiving", "queued", "running", "done", "failed", "cancelled"]] | None = None,
    ) -> models.TaskPage:
        """List the tasks of the collections that the caller may write to, the newest first.

        - ``limit``: Maximum number of tasks.
        - ``cursor``: The `cursor` of the previous page.
        - ``collection``: Only of this collection; repeat for several.
        - ``kind``: Only of this kind; repeat for several.
        - ``status``: Only of this status; repeat for several.
        """
        return read(
            models.TaskPage,
            (
                self._transport.request(
                    "GET",
                    "/tasks",
                    params={"limit": limit, "cursor": cursor, "collection": collection, "kind": kind, "status": status},
                    repeatable=True,
                )
            ).content,
        )

    def get_task(self, id: str, *, wait: float | None = None) -> models.TaskDescription:
        """Read a task's status, progress, counts and errors; with `wait`, once it has ended or the time is up.

        - ``wait``: Seconds to wait for its end before the answer.
        """
        return read(
            models.TaskDescription,
            (self._transport.request("GET", f"/tasks/{quoted(id)}", params={"wait": wait}, repeatable=True)).content,
        )

    def get_task_results(self, id: str) -> Iterator[dict[str, Any]]:
        """One result for each line, up to the last published one: `line`, `id`, `status` and, if it failed,
        `error`.
        """
        return self._transport.lines("GET", f"/tasks/{quoted(id)}/results", repeatable=True)

    def cancel_task(self, id: str) -> models.TaskDescription:
        """Cancel a task: at once while it waits, soon while it runs. What it has published stays."""
        return read(models.TaskDescription, (self._transport.request("POST", f"/tasks/{quoted(id)}/cancel")).content)

    def list_snapshots(self, collection: str) -> models.SnapshotList:
        """List the snapshots of a collection in the data folder, the newest first."""
        return read(
            models.SnapshotList,
            (
                self._transport.request("GET", f"/admin/collections/{quoted(collection)}/snapshots", repeatable=True)
            ).content,
        )

    def create_snapshot(self, collection: str, *, wait: float | None = None) -> models.TaskDescription:
        """Queue a task that makes a snapshot while the collection is searched and written to.

        - ``wait``: Seconds to wait for its end before the answer.
        """
        return read(
            models.TaskDescription,
            (
                self._transport.request(
                    "POST", f"/admin/collections/{quoted(collection)}/snapshots", params={"wait": wait}
                )
            ).content,
        )

    def download_snapshot(self, collection: str, id: str) -> Iterator[bytes]:
        """Send the file of a snapshot, which `spanseek snapshot restore` reads; ranges are supported."""
        return self._transport.pieces(
            "GET", f"/admin/collections/{quoted(collection)}/snapshots/{quoted(id)}", repeatable=True
        )

    def delete_snapshot(self, collection: str, id: str) -> models.SnapshotDescription:
        """Delete the file of a snapshot; the answer says what it held."""
        return read(
            models.SnapshotDescription,
            (
                self._transport.request(
                    "DELETE", f"/admin/collections/{quoted(collection)}/snapshots/{quoted(id)}", repeatable=True
                )
            ).content,
        )

    def restore_snapshot(
        self, collection: str, id: str, *, name: str | None = None, wait: float | None = None
    ) -> models.TaskDescription:
        """Queue a task that restores a snapshot as a new collection, with thresholds, phrases and
        calibrations.

        - ``name``: A new name; by default the name of the snapshot's collection.
        - ``wait``: Seconds to wait for its end before the answer.
        """
        return read(
            models.TaskDescription,
            (
                self._transport.request(
                    "POST",
                    f"/admin/collections/{quoted(collection)}/snapshots/{quoted(id)}/restore",
                    params={"wait": wait},
                    json={"name": name},
                )
            ).content,
        )

    def list_api_keys(self) -> models.KeyList:
        """List all keys without their secrets."""
        return read(models.KeyList, (self._transport.request("GET", "/admin/keys", repeatable=True)).content)

    def create_api_key(
        self,
        *,
        name: str,
        scopes: Sequence[Literal["search", "index", "admin"]],
        collections: Sequence[str] | None = None,
        filter: str | Mapping[str, object] | None = None,
        expires_at: datetime | None = None,
        rate: int | None = None,
    ) -> models.CreatedKey:
        """Create a key. From the first one on, every request needs a key.

        - ``name``: What the key is for.
        - ``scopes``: What it may do.
        - ``collections``: Only these collections; null for all, those to come included.
        - ``filter``: An expression about documents that holds in everything that the key reads and writes,
          such as `tenant = "acme"` or `document.id starts with "acme/"`.
        - ``expires_at``: When it ceases to be valid, with an offset from UTC; null for never.
        - ``rate``: Most requests a minute, for each server process; null for any number.
        """
        return read(
            models.CreatedKey,
            (
                self._transport.request(
                    "POST",
                    "/admin/keys",
                    json={
                        "name": name,
                        "scopes": scopes,
                        "collections": collections,
                        "filter": filter,
                        "expires_at": expires_at,
                        "rate": rate,
                    },
                )
            ).content,
        )

    def revoke_api_key(self, id: str) -> models.RevokedKey:
        """Revoke a key from the next request on."""
        return read(
            models.RevokedKey,
            (self._transport.request("DELETE", f"/admin/keys/{quoted(id)}", repeatable=True)).content,
        )

    def show_cluster(self) -> models.ClusterState:
        """Return the state of the cluster that this server saw at most half a second ago. It asks no actor for
        it.
        """
        return read(models.ClusterState, (self._transport.request("GET", "/admin/cluster", repeatable=True)).content)

    def compare(self, *, first: str, second: str, collection: str | None = None) -> models.CompareAnswer:
        """Say how similar two texts are in every mode, what their facets are, and which is more general.

        - ``first``: The query, as in a search.
        - ``second``: The text that it is compared with.
        - ``collection``: Compare with its encoder, nuggets and calibrations. Without one: all modes, with the
          server's encoder, its default calibration, and nuggets as they were trained, with a ratio of 0.1.
        """
        return read(
            models.CompareAnswer,
            (
                self._transport.request(
                    "POST",
                    "/compare",
                    json={"first": first, "second": second, "collection": collection},
                    repeatable=True,
                )
            ).content,
        )

    def summarize(
        self,
        *,
        collection: str | None = None,
        document_ids: Sequence[str] | None = None,
        spans: Sequence[Mapping[str, object]] | None = None,
        texts: Sequence[str | Mapping[str, object]] | None = None,
        sentences: int | None = None,
        offset_unit: Literal["codepoint", "utf16", "byte"] | None = None,
    ) -> models.SummaryAnswer:
        """Choose the sentences of documents, of hits or of given texts that cover their words best.

        - ``collection``: The collection of `document_ids` and `spans`.
        - ``document_ids``: Documents to summarize, together.
        - ``spans``: Spans such as hits, with `document_id`, `start` and `end` in code points: the sentences
          that they touch are summarized.
        - ``texts``: Texts that are not stored, as in `POST /spans`.
        - ``sentences``: The number of sentences to choose.
        - ``offset_unit``: As in a search, for the answer.
        """
        return read(
            models.SummaryAnswer,
            (
                self._transport.request(
                    "POST",
                    "/summarize",
                    json={
                        "collection": collection,
                        "document_ids": document_ids,
                        "spans": spans,
                        "texts": texts,
                        "sentences": sentences,
                        "offset_unit": offset_unit,
                    },
                    repeatable=True,
                )
            ).content,
        )

    def list_webhooks(self, collection: str) -> models.WebhookList:
        """List the webhooks of a collection, and whether they fail."""
        return read(
            models.WebhookList,
            (self._transport.request("GET", f"/collections/{quoted(collection)}/webhooks", repeatable=True)).content,
        )

    def create_webhook(
        self,
        collection: str,
        *,
        url: str,
        matches: bool | None = None,
        tasks: bool | None = None,
        phrases: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        from_beginning: bool | None = None,
        paused: bool | None = None,
        note: str | None = None,
    ) -> models.WebhookDescription:
        """Make a webhook. The answer has the secret of its signatures, which is never shown again.

        - ``url``: Where deliveries are sent, by POST: an https:// URL of a public address.
        - ``matches``: Send matches, and their withdrawals.
        - ``tasks``: Send the ends of tasks.
        - ``phrases``: Only the matches of these phrases; of all without any.
        - ``tags``: Only the matches of phrases with one of these tags.
        - ``from_beginning``: Also send the matches that are there.
        - ``paused``: Send nothing for now; what happens meanwhile is sent later.
        - ``note``: Stored with the webhook.
        """
        return read(
            models.WebhookDescription,
            (
                self._transport.request(
                    "POST",
                    f"/collections/{quoted(collection)}/webhooks",
                    json={
                        "url": url,
                        "matches": matches,
                        "tasks": tasks,
                        "phrases": phrases,
                        "tags": tags,
                        "from_beginning": from_beginning,
                        "paused": paused,
                        "note": note,
                    },
                )
            ).content,
        )

    def get_webhook(self, collection: str, id: str) -> models.WebhookDescription:
        """Read a webhook, and why it fails if it does."""
        return read(
            models.WebhookDescription,
            (
                self._transport.request(
                    "GET", f"/collections/{quoted(collection)}/webhooks/{quoted(id)}", repeatable=True
                )
            ).content,
        )

    def change_webhook(
        self,
        collection: str,
        id: str,
        *,
        url: str | None = None,
        matches: bool | None = None,
        tasks: bool | None = None,
        phrases: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        paused: bool | None = None,
        note: str | None = None,
    ) -> models.WebhookDescription:
        """Change fields of a webhook; what it could not deliver is tried again at once.

        - ``url``: A new URL.
        - ``matches``: Whether matches are sent.
        - ``tasks``: Whether the ends of tasks are sent.
        - ``phrases``: Only the matches of these phrases from now on.
        - ``tags``: Only the matches of phrases with one of these tags from now on.
        - ``paused``: Whether it is paused.
        - ``note``: A new note.
        """
        return read(
            models.WebhookDescription,
            (
                self._transport.request(
                    "PATCH",
                    f"/collections/{quoted(collection)}/webhooks/{quoted(id)}",
                    json={
                        "url": url,
                        "matches": matches,
                        "tasks": tasks,
                        "phrases": phrases,
                        "tags": tags,
                        "paused": paused,
                        "note": note,
                    },
                )
            ).content,
        )

    def delete_webhook(self, collection: str, id: str) -> models.DeletedWebhook:
        """Delete a webhook, with its dead letters."""
        return read(
            models.DeletedWebhook,
            (
                self._transport.request(
                    "DELETE", f"/collections/{quoted(collection)}/webhooks/{quoted(id)}", repeatable=True
                )
            ).content,
        )

    def renew_webhook_secret(self, collection: str, id: str) -> models.WebhookDescription:
        """Give a webhook a new secret, for all deliveries from now on. The answer has it, and no later one."""
        return read(
            models.WebhookDescription,
            (
                self._transport.request("POST", f"/collections/{quoted(collection)}/webhooks/{quoted(id)}/secret")
            ).content,
        )

    def list_dead_letters(
        self, collection: str, id: str, *, limit: int | None = None, after: int | None = None
    ) -> models.DeadLetterPage:
        """List the deliveries that failed for too long, the oldest first.

        - ``limit``: Maximum number of dead letters.
        - ``after``: The number of the last one of the page before.
        """
        return read(
            models.DeadLetterPage,
            (
                self._transport.request(
                    "GET",
                    f"/collections/{quoted(collection)}/webhooks/{quoted(id)}/dead-letters",
                    params={"limit": limit, "after": after},
                    repeatable=True,
                )
            ).content,
        )

    def send_dead_letter(self, collection: str, id: str, number: str) -> models.LetterStatus:
        """Send a dead letter again, before anything else of its webhook."""
        return read(
            models.LetterStatus,
            (
                self._transport.request(
                    "POST",
                    f"/collections/{quoted(collection)}/webhooks/{quoted(id)}/dead-letters/{quoted(number)}/send",
                )
            ).content,
        )

    def delete_dead_letter(self, collection: str, id: str, number: str) -> models.LetterStatus:
        """Delete a dead letter: it is never sent."""
        return read(
            models.LetterStatus,
            (
                self._transport.request(
                    "DELETE",
                    f"/collections/{quoted(collection)}/webhooks/{quoted(id)}/dead-letters/{quoted(number)}",
                    repeatable=True,
                )
            ).content,
        )

    def get_sign_in(self) -> models.SignIn:
        """Say which identity provider gives tokens to people, if any; each takes API keys, too."""
        return read(models.SignIn, (self._transport.request("GET", "/sign-in", repeatable=True)).content)

    def live(self) -> models.Live:
        """Always 200: restart a process that does not answer."""
        return read(models.Live, (self._transport.request("GET", "/health/live", repeatable=True)).content)

    def ready(self) -> models.Ready:
        """200 if the database and the encoder are available; else 503, and ``checks`` says which fails and
        why.
        """
        return read(models.Ready, (self._transport.request("GET", "/health/ready", repeatable=True)).content)

    def metrics(self) -> str:
        """Requests by route and status, the durations of their stages, and the sizes of the collections the
        key may see.
        """
        return (self._transport.request("GET", "/metrics", repeatable=True)).text

"""The body of ``POST /spans``."""

from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from app.http.schemas import Body, DocumentId, QueryText, Similarity, SpansBody
from app.search.types import MAX_CONTEXT, Ranking, SpanChoice
from app.texts.span_answers import MAX_LIMIT, MAX_PHRASES, SpansRequest
from indexer.errors import InvalidDocument
from indexer.segments.text import OffsetUnit
from indexer.sources.documents import checked_metadata, checked_text
from indexer.tuning import ThresholdOn
from models.types import Document, Part


def _text(text: str) -> str:
    try:
        return checked_text(text)
    except InvalidDocument as error:
        raise ValueError(f"{error}.") from error


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    try:
        return dict(checked_metadata(value))
    except InvalidDocument as error:
        raise ValueError(f"{error}.") from error


def _object(value: object) -> object:
    """A string stands for an object with this text."""
    return {"text": value} if isinstance(value, str) else value


StorableText = Annotated[str, AfterValidator(_text)]
MetadataBody = Annotated[dict[str, Any], AfterValidator(_metadata)]


class PartBody(Body):
    """A part: no span crosses its ends."""

    text: StorableText
    metadata: MetadataBody = Field({}, description="Returned with the hits of this part.")


class TextBody(Body):
    """A text, in one piece or in parts."""

    id: DocumentId | None = Field(None, description="Returned with the spans; without one, the number of the text.")
    text: StorableText | None = Field(None, description="Give this or `parts`.")
    parts: list[PartBody] | None = Field(None, description="Offsets count in the parts joined by newlines.")
    metadata: MetadataBody = Field({}, description="Returned with the hits; `lang` or `language` says what it is in.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.text is None) == (self.parts is None):
            raise ValueError("Give either text or parts.")
        return self

    def document(self, number: int) -> Document:
        """The text as a document; ``number`` is its id if it has none."""
        parts = [PartBody(text=self.text)] if self.text is not None else self.parts or []
        id = str(number) if self.id is None else self.id
        return Document(id, tuple(Part(part.text, part.metadata) for part in parts), self.metadata)


# A string, or an object.
TextInput = Annotated[TextBody, BeforeValidator(_object, json_schema_input_type=str | TextBody)]


class TextsBody(Body):
    """Phrases, texts, and which spans to return."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"phrases": ["cancel my subscription"], "texts": ["Please stop my monthly plan.", "Hello."]},
                {
                    "phrases": ["cancel my subscription", "send me a refund"],
                    "texts": [
                        {"id": "doc-7", "text": "Please stop my monthly plan. I want my money back."},
                        {"id": "call-3", "parts": [{"text": "Hello?", "metadata": {"speaker": "agent"}}]},
                    ],
                    "limit": 2,
                    "threshold": 0.5,
                    "spans": {"boundaries": "clause"},
                    "offset_unit": "utf16",
                    "context": 40,
                },
            ]
        }
    )

    phrases: list[QueryText] = Field(
        min_length=1, max_length=MAX_PHRASES, description="The origin phrases; each fits into a window of the encoder."
    )
    texts: list[TextInput] = Field(
        min_length=1, description="The texts: strings, or objects; up to 1,000, and 1,000,000 characters in all."
    )
    limit: int = Field(3, ge=1, le=MAX_LIMIT, description="At most so many spans of a text for each phrase.")
    threshold: Similarity | None = Field(None, description="No span lies under this; without it, none is left out.")
    threshold_on: ThresholdOn = Field("score", description="Which scale the threshold is on.")
    offset_unit: OffsetUnit = Field("codepoint", description="What `start` and `end` count, as in `/search`.")
    context: int = Field(0, ge=0, le=MAX_CONTEXT, description="So many characters around each span, within its part.")
    explain: bool = Field(False, description="Say what each unit of a span adds to its cosine.")
    ranking: Ranking = Field("span_score", description="Rank by the span score, or by the cosine alone.")
    spans: SpansBody = Field(
        SpansBody(), description="Which spans: 1 to 20 units unless it says otherwise, or whole ones of any length."
    )

    def request(self) -> SpansRequest:
        """The body as the service understands it."""
        return SpansRequest(
            phrases=tuple(self.phrases),
            texts=tuple(self._documents()),
            limit=self.limit,
            threshold=self.threshold,
            threshold_on=self.threshold_on,
            offset_unit=self.offset_unit,
            context=self.context,
            explain=self.explain,
            ranking=self.ranking,
            spans=SpanChoice(self.spans.min_units, self.spans.max_units, self.spans.boundaries),
        )

    def _documents(self) -> Iterator[Document]:
        return (text.document(number) for number, text in enumerate(self.texts))

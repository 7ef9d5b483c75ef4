"""The request of ``POST /spans`` and ``spanseek spans``, and how JSON gives texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from app.requests import Body, DocumentId, HitOptions, QueryText, VerifyOptions, option, read_as
from indexer.errors import InvalidDocument
from indexer.sources.documents import checked_metadata, checked_text
from models.types import Document, Part

MAX_PHRASES = 20
MAX_LIMIT = 100


def _text(text: str) -> str:
    try:
        return checked_text(text)
    except InvalidDocument as error:
        raise ValueError(f"{error}.") from error


def storable_metadata(value: dict[str, Any]) -> dict[str, Any]:
    """Metadata that can be stored. Raises ``ValueError`` for any other."""
    try:
        return dict(checked_metadata(value))
    except InvalidDocument as error:
        raise ValueError(f"{error}.") from error


def _object(value: object) -> object:
    """A string stands for an object with this text."""
    return {"text": value} if isinstance(value, str) else value


StorableText = Annotated[str, AfterValidator(_text)]
MetadataBody = Annotated[dict[str, Any], AfterValidator(storable_metadata)]


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


def _documents(texts: Sequence[TextBody]) -> tuple[Document, ...]:
    return tuple(text.document(number) for number, text in enumerate(texts))


@dataclass(frozen=True, slots=True)
class SpanRange:
    """A span of a stored document, in code points."""

    document_id: str
    start: int
    end: int


class SpanBody(Body):
    """A span of a stored document, such as a hit."""

    document_id: DocumentId
    start: int = Field(ge=0, description="In code points.")
    end: int = Field(ge=0)


@dataclass(frozen=True)
class SpansRequest(HitOptions, VerifyOptions):
    """Phrases, texts, and which spans to return: at most ``limit`` of every text for every phrase."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",
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
        },
    )

    phrases: Annotated[
        tuple[QueryText, ...],
        Field(
            min_length=1,
            max_length=MAX_PHRASES,
            description="The origin phrases; each fits into a window of the encoder.",
        ),
    ]
    texts: Annotated[
        tuple[Document, ...],
        read_as(list[TextInput], _documents),
        Field(
            min_length=1,
            description='Texts: strings, `{"id", "text", "metadata"}`, or with `"parts": [{"text", "metadata"}]` in '
            'place of `"text"`. Without an id, the id of a text is its number, from 0. Up to 1,000, with 1,000,000 '
            "characters and 20,000 parts in all.",
        ),
    ]
    limit: Annotated[int, option("Maximum number of spans of a text for each phrase.", ge=1, le=MAX_LIMIT)] = 3

    @property
    def read(self) -> int:
        """The number of best spans that the verifier reads."""
        return self._read(is_asked=self.threshold == "auto")

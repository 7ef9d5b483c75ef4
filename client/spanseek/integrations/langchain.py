"""LangChain: a retriever whose documents quote, and a vector store that needs no embeddings.

```python
retriever = SpanseekRetriever(collection=spanseek.connect().collection("calls"), k=5)
for document in retriever.invoke("I was charged twice"):
    print(citation(document.metadata))
```
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field

from spanseek.errors_by_code import DocumentNotFound
from spanseek.integrations.filters import of_mongo
from spanseek.integrations.quotes import CONTEXT, citation, quoted
from spanseek.integrations.writing import all_added
from spanseek.models import Hit
from spanseek.synchronous.collection import Collection
from spanseek.tables import text_id

__all__ = ["SpanseekRetriever", "SpanseekVectorStore", "citation"]


class SpanseekRetriever(BaseRetriever):
    """Retrieves the spans that mean the same as a question, each within ``context`` characters on either side.

    ``filter`` is an expression, or a mapping such as ``{"year": {"$gte": 2020}}``; ``options`` are those of
    ``Collection.search``. The documents' metadata are those of ``spanseek.integrations.quotes.Quoted``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    collection: Collection
    k: int = 5
    filter: str | dict[str, Any] | None = None
    context: int = CONTEXT
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self.collection.search(
            query, k=self.k, filter=_filter(self.filter), context=self.context, **self.options
        )
        return [_document(hit) for hit in hits]


class SpanseekVectorStore(VectorStore):
    """A collection as a vector store, whose documents are embedded and searched by the server.

    A search finds spans; a document that it returns is the span's surroundings with its citation.
    """

    def __init__(self, collection: Collection, context: int = CONTEXT) -> None:
        self._collection, self._context = collection, context

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> list[str]:
        """Index texts, and return their ids: those given, and of texts without one those that follow from the texts.

        Raises ``DocumentsRefused`` if any is not indexed.
        """
        listed = list(texts)
        own = [id or text_id(text) for id, text in zip(ids or [None] * len(listed), listed, strict=True)]
        rows = zip(own, listed, metadatas or [{}] * len(listed), strict=True)
        all_added(self._collection.add([{"id": id, "text": text, "metadata": metadata} for id, text, metadata in rows]))
        return own

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:  # noqa: ANN401
        """Delete documents by id; those that are not there do no harm."""
        if ids is None:
            raise ValueError("Name the ids; Collection.drop deletes all documents.")
        if ids:
            self._collection.delete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Whole documents by id, without those that are not there."""
        documents = []
        for id in ids:
            with suppress(DocumentNotFound):
                read = self._collection.read(id)
                documents.append(Document(id=id, page_content=read.text, metadata=read.metadata))
        return documents

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        filter: str | Mapping[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> list[Document]:
        """The best spans with their citations."""
        return [document for document, _ in self.similarity_search_with_score(query, k, filter, **kwargs)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: str | Mapping[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> list[tuple[Document, float]]:
        """The best spans with their citations, and their scores from 0 to 1, where 1 is the best."""
        hits = self._collection.search(query, k=k, filter=_filter(filter), context=self._context, **kwargs)
        return [(_document(hit), hit.score) for hit in hits]

    def _select_relevance_score_fn(self) -> Any:  # noqa: ANN401
        return float  # scores are similarities already

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        collection: Collection | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Self:
        """A store with these texts in ``collection``. ``embedding`` is not used: the server has its encoder."""
        if collection is None:
            raise ValueError("Name the collection: from_texts(texts, collection=db.collection('notes')).")
        store = cls(collection, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store


def _filter(filter: str | Mapping[str, Any] | None) -> str | Mapping[str, Any] | None:
    if filter is None or isinstance(filter, str):
        return filter
    return {"expression": of_mongo(filter)}


def _document(hit: Hit) -> Document:
    quote = quoted(hit)
    return Document(id=quote.id, page_content=quote.text, metadata=quote.metadata)

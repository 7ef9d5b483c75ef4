"""Haystack: a document store over a collection, and a retriever whose documents quote.

```python
retriever = SpanseekRetriever(SpanseekDocumentStore("http://127.0.0.1:8000", "calls"), top_k=5)
for document in retriever.run(query="I was charged twice")["documents"]:
    print(citation(document.meta))
```
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils import Secret, deserialize_secrets_inplace

from spanseek.errors_by_code import CollectionNotFound, DocumentNotFound
from spanseek.integrations.filters import of_haystack
from spanseek.integrations.quotes import CONTEXT, citation, quoted
from spanseek.integrations.writing import all_added
from spanseek.models import Hit
from spanseek.synchronous.client import Client, connect
from spanseek.synchronous.collection import Collection

__all__ = ["SpanseekDocumentStore", "SpanseekRetriever", "citation"]


class SpanseekDocumentStore:
    """A collection of a server as a document store; ``key`` is where its API key is found."""

    def __init__(self, url: str, collection: str, key: Secret | None = None) -> None:
        self.url, self.name, self.key = url, collection, key
        self._client: Client | None = None

    @property
    def collection(self) -> Collection:
        """The collection; the first use connects."""
        if self._client is None:
            self._client = connect(self.url, self.key.resolve_value() if self.key else None)
        return self._client.collection(self.name)

    def close(self) -> None:
        """Close the connections; the next use opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def to_dict(self) -> dict[str, Any]:
        """The store as pipelines save it: the name of the key's source, never the key."""
        key = self.key.to_dict() if self.key else None
        saved: dict[str, Any] = default_to_dict(self, url=self.url, collection=self.name, key=key)
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "SpanseekDocumentStore":
        """The store of a saved pipeline."""
        deserialize_secrets_inplace(data["init_parameters"], ["key"])
        store: SpanseekDocumentStore = default_from_dict(cls, data)
        return store

    def count_documents(self) -> int:
        """The number of documents."""
        with suppress(CollectionNotFound):
            return self.collection.describe().documents
        return 0

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """The whole documents that pass a filter."""
        exported = self.collection.export(None if not filters else {"expression": of_haystack(filters)})
        with suppress(CollectionNotFound):
            return [Document(id=each["id"], content=_text(each), meta=each.get("metadata", {})) for each in exported]
        return []

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Index documents with their ``content`` and ``meta``; the policy says what becomes of ids that occur already.

        Without a policy, and with ``OVERWRITE``, they replace the older ones. Raises ``DocumentsRefused`` if any is not
        indexed.
        """
        if not isinstance(documents, Sequence) or not all(isinstance(each, Document) for each in documents):
            raise ValueError("Give a list of Haystack's documents.")
        if policy in (DuplicatePolicy.SKIP, DuplicatePolicy.FAIL):
            new: dict[str, Document] = {}
            for each in documents:
                if each.id not in new and not self._has(each.id):
                    new[each.id] = each
                elif policy is DuplicatePolicy.FAIL:
                    raise DuplicateDocumentError(f"A document {each.id!r} is there already, or comes twice.")
            documents = list(new.values())
        rows = [{"id": each.id, "text": each.content or "", "metadata": each.meta} for each in documents]
        added = all_added(self.collection.add(rows))
        return added.indexed + added.unchanged

    def _has(self, id: str) -> bool:
        try:
            self.collection.read(id)
        except (CollectionNotFound, DocumentNotFound):
            return False
        return True

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; those that are not there do no harm."""
        if document_ids:
            with suppress(CollectionNotFound):
                self.collection.delete(document_ids)


@component
class SpanseekRetriever:
    """Retrieves the spans that mean the same as a query, each within ``context`` characters on either side.

    The documents' ``meta`` is that of ``spanseek.integrations.quotes.Quoted``.
    """

    def __init__(
        self,
        document_store: SpanseekDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 5,
        context: int = CONTEXT,
    ) -> None:
        self.document_store, self.filters, self.top_k, self.context = document_store, filters, top_k, context

    def to_dict(self) -> dict[str, Any]:
        """The component as pipelines save it."""
        saved: dict[str, Any] = default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            context=self.context,
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "SpanseekRetriever":
        """The component of a saved pipeline."""
        own = data["init_parameters"]
        own["document_store"] = SpanseekDocumentStore.from_dict(own["document_store"])
        retriever: SpanseekRetriever = default_from_dict(cls, data)
        return retriever

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The best spans of a query; ``filters`` and ``top_k`` replace those of the component."""
        tree = of_haystack(filters or self.filters)
        hits = self.document_store.collection.search(
            query,
            k=self.top_k if top_k is None else top_k,
            filter=None if tree is None else {"expression": tree},
            context=self.context,
        )
        return {"documents": [_document(hit) for hit in hits]}


def _document(hit: Hit) -> Document:
    quote = quoted(hit)
    return Document(id=quote.id, content=quote.text, meta=quote.metadata, score=quote.score)


def _text(document: dict[str, Any]) -> str:
    return document["text"] if "text" in document else "\n".join(part["text"] for part in document["parts"])

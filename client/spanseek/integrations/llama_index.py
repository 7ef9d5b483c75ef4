"""LlamaIndex: a retriever whose nodes quote.

```python
retriever = SpanseekRetriever(spanseek.connect().collection("contracts"), k=5)
for found in retriever.retrieve("may either party terminate?"):
    print(citation(found.metadata))
```
"""

from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import MetadataFilters

from spanseek.integrations.filters import of_llama_index
from spanseek.integrations.quotes import CONTEXT, citation, quoted
from spanseek.models import Hit
from spanseek.synchronous.collection import Collection

__all__ = ["SpanseekRetriever", "citation"]


class SpanseekRetriever(BaseRetriever):
    """Retrieves the spans that mean the same as a question, each within ``context`` characters on either side.

    ``options`` are those of ``Collection.search``. A node's ``start_char_idx`` and ``end_char_idx`` are of its text in
    the document, ``start`` and ``end`` in its metadata of the quotation (``spanseek.integrations.quotes.Quoted``).
    Nodes of restored texts have no such indices.
    """

    def __init__(
        self,
        collection: Collection,
        k: int = 5,
        filters: MetadataFilters | None = None,
        context: int = CONTEXT,
        **options: Any,  # noqa: ANN401
    ) -> None:
        self._collection, self._k, self._context, self._options = collection, k, context, options
        self._filter = None if filters is None else {"expression": of_llama_index(filters)}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._collection.search(
            query_bundle.query_str, k=self._k, filter=self._filter, context=self._context, **self._options
        )
        return [NodeWithScore(node=_node(hit), score=hit.score) for hit in hits]


def _node(hit: Hit) -> TextNode:
    quote = quoted(hit)
    first = None if hit.restored else hit.start - (hit.context.start if hit.context else 0)
    return TextNode(
        id_=quote.id,
        text=quote.text,
        metadata=quote.metadata,
        start_char_idx=first,
        end_char_idx=None if first is None else first + len(quote.text),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.document_id)},
    )

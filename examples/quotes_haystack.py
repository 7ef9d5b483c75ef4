"""Haystack: quotations with their places. ``pip install 'spanseek-client[haystack]'``, and a server's address."""

import csv
import sys
from pathlib import Path

from haystack import Document, Pipeline

from spanseek.integrations.haystack import SpanseekDocumentStore, SpanseekRetriever, citation

store = SpanseekDocumentStore(*(sys.argv[1:] or ["http://127.0.0.1:8000"]), collection="clauses")
with (Path(__file__).parent / "clauses.csv").open() as rows:
    clauses = [
        Document(id=f"{row['contract']}-{row['page']}", content=row["clause"], meta={"page": int(row["page"])})
        for row in csv.DictReader(rows)
    ]
store.write_documents(clauses)

pipeline = Pipeline()
pipeline.add_component("retriever", SpanseekRetriever(store, top_k=3))
for document in pipeline.run({"retriever": {"query": "terminate at any time"}})["retriever"]["documents"]:
    print(citation(document.meta))
store.close()

"""LangChain: quotations with their places. ``pip install 'spanseek-client[langchain]'``, and a server's address."""

import csv
import sys
from pathlib import Path

import spanseek
from spanseek.integrations.langchain import SpanseekRetriever, citation

contracts = spanseek.connect(*sys.argv[1:]).collection("contracts")
with (Path(__file__).parent / "clauses.csv").open() as rows:
    contracts.add(list(csv.DictReader(rows)), text="clause", id="contract", part="page")

retriever = SpanseekRetriever(collection=contracts, k=3, options={"spans": {"boundaries": "sentence"}})
for document in retriever.invoke("terminate at any time"):
    print(citation(document.metadata))

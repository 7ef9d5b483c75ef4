"""LlamaIndex: quotations with their places. ``pip install 'spanseek-client[llama-index]'``, and a server's address."""

import csv
import sys
from pathlib import Path

import spanseek
from spanseek.integrations.llama_index import SpanseekRetriever, citation

contracts = spanseek.connect(*sys.argv[1:]).collection("contracts")
with (Path(__file__).parent / "clauses.csv").open() as rows:
    contracts.add(list(csv.DictReader(rows)), text="clause", id="contract", part="page")

for found in SpanseekRetriever(contracts, k=3).retrieve("terminate at any time"):
    print(citation(found.metadata))

"""Qdrant finds documents, Spanseek the spans in them. ``pip install qdrant-client scikit-learn``.

The argument is the address of a server of Spanseek. Qdrant runs in this process, over vectors of words; with a server
of it and an embedding model nothing else changes.
"""

import csv
import sys
from pathlib import Path

from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams
from sklearn.feature_extraction.text import HashingVectorizer

import spanseek

phrase = "terminate at any time"
with (Path(__file__).parent / "clauses.csv").open() as file:
    clauses = list(csv.DictReader(file))
embed = HashingVectorizer(n_features=512, stop_words="english").transform
qdrant = QdrantClient(":memory:")
qdrant.create_collection("clauses", vectors_config=VectorParams(size=512, distance=Distance.COSINE))
vectors = embed([clause["clause"] for clause in clauses]).toarray()
points = zip(vectors, clauses, strict=True)
qdrant.upsert("clauses", [PointStruct(id=n, vector=v.tolist(), payload=c) for n, (v, c) in enumerate(points)])

answer = qdrant.query_points("clauses", query=embed([phrase]).toarray()[0].tolist(), limit=3)
texts = [{"id": str(point.id), "text": point.payload["clause"]} for point in answer.points]
with spanseek.connect(*sys.argv[1:]) as db:
    for point, spans in zip(answer.points, db.spans(phrase, texts, limit=1, threshold=0.3), strict=True):
        for span in spans:
            print(
                f'{span.score:.2f} "{span.text}" ({point.payload["contract"]}, characters {span.start} to {span.end})'
            )

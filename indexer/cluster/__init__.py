"""Reading a snapshot on a Ray cluster: actors hold segments, and a front asks each for those it holds (ADR 50)."""

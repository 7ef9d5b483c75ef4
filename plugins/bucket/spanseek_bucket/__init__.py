"""Segments in a bucket of an object store, each with a bounded cache on the disk of every machine (ADR 49)."""

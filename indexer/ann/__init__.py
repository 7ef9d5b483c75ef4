"""Engines through FAISS, behind the same Protocol as the scan: the only importer of faiss."""

"""The loops in which a query becomes vectors: with those of ``indexer.engine.kernels`` the only importers of numba."""

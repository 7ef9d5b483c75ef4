"""The loops in which a query becomes vectors: with ``indexer.kernels`` the only importers of numba."""

import sys

_BLAS = "scipy.linalg.cython_blas"


def _load_numba_without_scipy() -> None:
    """Let numba find no BLAS of scipy's, which it looks for with its first kernel, in 0.15 s: no kernel needs any."""
    if _BLAS in sys.modules:
        return
    sys.modules[_BLAS] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401  where it looks
    finally:
        del sys.modules[_BLAS]


_load_numba_without_scipy()

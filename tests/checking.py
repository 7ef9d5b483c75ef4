"""The type checker that the import hook of ``conftest.py`` puts around what takes or gives arrays."""

from collections.abc import Callable
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

# As PEP 484 has it, an int will do where a float is asked for.
checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
_jaxtyped: Callable[..., Any] = jaxtyping.jaxtyped


def install() -> None:
    """Let the hook leave functions and classes without arrays as they are: binding their arguments to find no shape
    would take half the time of the tests.
    """

    def jaxtyped(typechecker: object) -> Callable[[Any], Any]:
        return lambda target: (
            _jaxtyped(target, typechecker=typechecker)
            if any(map(_has_arrays, target.__annotations__.values()))
            else target
        )

    jaxtyping.jaxtyped = jaxtyped


def _has_arrays(annotation: object) -> bool:
    return any(name in repr(annotation) for name in ("jaxtyping", "ndarray", "Tensor"))

"""What somebody wants of a threshold."""

from dataclasses import asdict, dataclass

from models.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Wishes:
    """The precision, and the recall, that a threshold is wanted for."""

    precision: float = 0.9
    recall: float = 0.9


def check_wishes(wishes: Wishes) -> None:
    """Raise ``InvalidInput`` for a precision or recall that cannot be."""
    for name, value in asdict(wishes).items():
        if not 0 < value <= 1:
            raise InvalidInput(f"A {name} cannot be {value}.", hint="Choose more than 0, up to 1.", field=name)

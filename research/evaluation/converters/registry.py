"""The data sets that can be converted, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from indexer.errors import SourceUnreadable
from models.errors import InvalidInput
from research.evaluation.converters import climate_fever, cuad, pic, qed, scifact, xquad
from research.evaluation.converters.conversion import Conversion


@dataclass(frozen=True, slots=True)
class Converter:
    """Reads a data set's folder for one of its tasks; the first is the default."""

    read: Callable[[Path, str], Conversion]
    tasks: tuple[str, ...]


CONVERTERS: Mapping[str, Converter] = MappingProxyType(
    {
        "climate-fever": Converter(climate_fever.read, ("claim",)),
        "cuad": Converter(cuad.read, ("question", "clause")),
        "pic": Converter(pic.read, ("phrase",)),
        "qed": Converter(qed.read, ("sentence", "answer")),
        "scifact": Converter(scifact.read, ("claim",)),
        "xquad": Converter(xquad.read, ("sentence", "answer")),
    }
)


def convert(name: str, folder: Path, task: str | None = None) -> Conversion:
    """Convert a data set. Raises ``InvalidInput`` for a set or task that is not known, ``SourceUnreadable`` for a
    folder that does not hold the set in the form in which it was published.
    """
    converter = CONVERTERS.get(name)
    if converter is None:
        raise InvalidInput(f"There is no data set {name!r}.", hint=f"Sets are: {', '.join(CONVERTERS)}.", field="name")
    task = task or converter.tasks[0]
    if task not in converter.tasks:
        hint = f"Tasks of {name} are: {', '.join(converter.tasks)}."
        raise InvalidInput(f"{name} has no task {task!r}.", hint=hint, field="task")
    try:
        return converter.read(folder, task)
    except (LookupError, TypeError, ValueError, SyntaxError) as error:
        hint = "Give the data set's folder with --data, its files unchanged or gzipped."
        raise SourceUnreadable(f"{folder} does not hold {name} as published: {error!r}", hint=hint) from error

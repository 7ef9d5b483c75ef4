"""The type checker that the import hook of ``conftest.py`` puts around every annotated function."""

from beartype import BeartypeConf, beartype

# As PEP 484 has it, an int will do where a float is asked for.
checked = beartype(conf=BeartypeConf(is_pep484_tower=True))

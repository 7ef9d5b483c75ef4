"""Answering: the search itself, HTTP, the command line, evaluation."""

# The version of the distribution; the newest entry of CHANGELOG.md and research/pyproject.toml say the same.
__version__ = "0.3.0"

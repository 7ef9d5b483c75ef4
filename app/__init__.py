"""Answering: the search itself, HTTP, the command line, evaluation."""

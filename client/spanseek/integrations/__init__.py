"""Retrievers and stores of frameworks; an extra of ``spanseek-client`` installs the framework of each."""

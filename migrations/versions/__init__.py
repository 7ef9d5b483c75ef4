"""One file per step, each of which can be taken forth and back."""

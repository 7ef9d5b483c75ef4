"""Mode ``hybrid``: sentences by meaning and by their words."""

from app.search.modes.hybrid.mode import Hybrid as Hybrid

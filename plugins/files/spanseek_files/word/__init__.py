"""Word files: what Word shows in its final view."""

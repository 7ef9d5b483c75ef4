"""Rich text (``.rtf``), by the specification 1.9.1 of Microsoft."""

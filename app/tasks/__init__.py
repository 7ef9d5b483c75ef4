"""Tasks: uploads and other long work, queued in the catalog, run by workers of the server, and resumed."""

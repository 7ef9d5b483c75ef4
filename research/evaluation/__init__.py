"""The papers' tables, and the project's own, as code: datasets in, figures out."""

"""Uses of facets: comparing texts, and summarizing them by their sentences."""

"""What facets are used for: comparing texts, and summarizing them by their sentences."""

"""The best spans of texts that are given with the request, and stored nowhere."""

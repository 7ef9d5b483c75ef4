"""The executor ``ray``: segments read by the actors of a Ray cluster, and actors that encode."""

"""Representations: what a segment stores of its documents besides units."""

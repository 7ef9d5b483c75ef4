"""Texts before any network: units, borders, sentences, folding, stems, polarity, and tokens joined to units."""

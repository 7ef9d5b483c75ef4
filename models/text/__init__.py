"""Texts before any network: units, borders, sentences, folding, stems, polarity, quantities, tokens joined to units."""

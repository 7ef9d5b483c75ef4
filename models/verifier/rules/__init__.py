"""Rules for English: quantities, opposites and negations that a text and a phrase hold, and the marked span."""

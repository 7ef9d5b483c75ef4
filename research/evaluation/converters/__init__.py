"""Data sets made into documents and queries, one file a set. Nothing of a set is kept here: its folder is given."""

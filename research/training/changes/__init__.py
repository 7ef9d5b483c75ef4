"""Minimal changes of a sentence, by rule: those that say another thing, and those that say the same."""

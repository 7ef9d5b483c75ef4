"""Webhooks: addresses that are told of matches and of ended tasks; signed, tried again, and sent in order."""

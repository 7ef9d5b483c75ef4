"""The catalog: collections, documents, segments, tunings, phrases, matches, leases and keys, in a SQL database.

Start at ``collections.Catalog``. ``publish`` makes every new generation, under a lease of ``leases``. ``schema``
creates and upgrades the tables. Scoring reads none of them.
"""

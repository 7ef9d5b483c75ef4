"""The history of the tables in ``indexer/catalog/tables.py``; ``indexer.catalog.schema`` applies it.

After a change of the tables, ``python -m migrations "what changed"`` writes the next step into ``versions``.
"""

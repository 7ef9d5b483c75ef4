"""Which documents, segments, leases and keys there are: SQL, and nothing that is read while scoring.

Start at ``repository.Catalog``. ``publish`` is the one way in which a new generation comes to be, ``leases``
says who may do so, ``keys`` who may ask, ``schema`` makes the tables.
"""

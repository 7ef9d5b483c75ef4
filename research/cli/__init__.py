"""The commands ``spanseek train``, ``spanseek eval`` and ``spanseek bench``, found through an entry-point group."""

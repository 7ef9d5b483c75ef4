"""Spanseek as tools of a language model: a server of the Model Context Protocol, in front of a server or a folder.

It needs the extra ``mcp`` of ``spanseek-client``. ``spanseek mcp`` and ``python -m spanseek.mcp`` run it.
"""

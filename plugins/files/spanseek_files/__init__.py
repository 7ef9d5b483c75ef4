"""Readers of PDF, Office, OpenDocument, RTF, books and e-mail, found by the entry points of this distribution."""

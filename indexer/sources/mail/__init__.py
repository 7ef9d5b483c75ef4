"""E-mail: messages of their own, in mailboxes, and of Outlook."""

from indexer.sources.mail.messages import read_mailbox, read_message
from indexer.sources.mail.outlook import read_outlook

__all__ = ["read_mailbox", "read_message", "read_outlook"]

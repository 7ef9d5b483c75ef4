"""E-mail: messages of their own, in mailboxes, and of Outlook."""

from indexer.sources.mail.mailboxes import read_mailbox
from indexer.sources.mail.messages import read_message
from indexer.sources.mail.outlook import read_outlook

__all__ = ["read_mailbox", "read_message", "read_outlook"]

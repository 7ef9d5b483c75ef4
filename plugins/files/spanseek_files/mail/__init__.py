"""E-mail: messages of their own, in mailboxes, and of Outlook."""

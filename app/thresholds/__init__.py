"""What an administrator sets, and sees before setting it. No HTTP, no SQL."""

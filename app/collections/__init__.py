"""Collections and their documents as use cases, without HTTP and without SQL."""

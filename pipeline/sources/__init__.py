"""The sources of records."""

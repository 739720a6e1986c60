"""The read side of a fetch: sessions, and what one pass over the partitions returns."""

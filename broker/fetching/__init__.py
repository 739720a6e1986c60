"""The read side of a fetch: sessions, and a pass over the partitions."""

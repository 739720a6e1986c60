"""Views as topic-partitions, computed while they are fetched."""

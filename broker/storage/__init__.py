"""Partitions and the vnodes on which they lie."""

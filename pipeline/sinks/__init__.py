"""The formats in which rows land."""

"""Topics, databases, configurations and ids, and the log that records them."""

"""Topics as queries over the log."""

"""The synchronous broker core and its trio shell."""

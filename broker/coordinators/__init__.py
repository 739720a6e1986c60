"""The state machines that each live on a log of their own, and their connection to the broker."""

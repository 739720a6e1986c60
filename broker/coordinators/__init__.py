"""The state machines that live on a log of their own, and what connects them to the broker."""

"""Share groups (KIP-932): records as a queue, each acknowledged on its own."""

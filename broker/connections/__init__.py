"""One client's connection: frames in, answers out, and the memory it may use."""

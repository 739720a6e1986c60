"""One client's connection: requests in, answers out, and the memory it may use."""

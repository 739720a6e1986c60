"""Values framed for a schema registry, which is another program: their schemas, and how they are read."""

"""Authentication and authorization: who may do what."""

"""Native programs of the client families, driven through one small contract: see README.md here."""

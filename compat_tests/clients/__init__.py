"""Native programs of the client families, spoken to through one small contract: see README.md here."""

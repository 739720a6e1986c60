"""The program of kcat."""

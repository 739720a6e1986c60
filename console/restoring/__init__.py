"""Making a database again somewhere else, from a view with its records and changes on a running server."""

"""A log's copy in an object store: what is uploaded, what names it, and how it comes back."""

"""Background work on stored records: retention, compaction, and freeing disk space."""

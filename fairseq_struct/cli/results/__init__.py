"""Verbs about results: predictions against gold, tables of records."""

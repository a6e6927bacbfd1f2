"""Scores and the records of results; nothing here imports fairseq."""

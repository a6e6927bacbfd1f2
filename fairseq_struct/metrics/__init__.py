"""Metrics as functions of arrays and trees; nothing here imports fairseq."""

"""Corpora: read, generated, prepared, and as fairseq batches them."""

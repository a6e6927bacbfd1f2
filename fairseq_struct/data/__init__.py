"""Readers of corpora as their owners distribute them, generators of small ones, fairseq data."""

"""Readers of corpora as their owners distribute them."""

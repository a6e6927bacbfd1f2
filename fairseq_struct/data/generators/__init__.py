"""Generators of small corpora, from grammars and mixtures, for tests and demonstrations."""

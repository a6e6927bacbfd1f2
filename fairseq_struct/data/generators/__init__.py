"""Small corpora drawn from grammars and mixtures, for tests and demonstrations."""

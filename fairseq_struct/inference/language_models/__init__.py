"""Tools of language models and of masked ones."""

"""What ``fairseq-struct draw`` draws: a kind of picture per file, listed in ``kinds.py``."""

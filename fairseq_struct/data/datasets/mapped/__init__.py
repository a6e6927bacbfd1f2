"""Splits of text in fairseq's format ``mmap``, read where they lie: nothing is held of a line."""

"""Masked language models whose attention follows an induced graph: UDGN and StructFormer."""

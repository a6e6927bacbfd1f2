"""Masked language models with attention along an induced graph: UDGN and StructFormer."""

"""Undirected neural networks, one registered architecture per file."""

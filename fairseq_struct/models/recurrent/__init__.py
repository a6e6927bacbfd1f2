"""Recurrent models, one registered architecture per file."""

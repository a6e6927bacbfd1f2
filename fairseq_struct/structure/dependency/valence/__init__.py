"""Projective trees whose heads count their modifiers: each side of a word grows until it stops."""

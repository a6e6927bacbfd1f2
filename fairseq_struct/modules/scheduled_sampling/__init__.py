"""Two-pass scheduled sampling: which inputs are replaced, when, and by what."""

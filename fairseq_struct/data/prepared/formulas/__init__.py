"""Corpora of formulas, read or drawn, as labelled folders are written from them."""

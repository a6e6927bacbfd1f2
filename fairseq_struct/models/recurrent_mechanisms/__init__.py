"""Composers of sentences by recurrent independent mechanisms, and what they are compared with."""

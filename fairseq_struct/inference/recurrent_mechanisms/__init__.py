"""Trained composers of sentences."""

"""Verbs for trained models: what they make of text, and pictures of it."""

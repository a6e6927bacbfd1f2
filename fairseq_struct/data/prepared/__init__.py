"""Folders that preparation writes, and what it makes them with."""

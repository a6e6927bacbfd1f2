"""Grids of numbers: attention, memories, images, confusion of labels."""

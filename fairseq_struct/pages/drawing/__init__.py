"""Shapes, where they lie, and how they become SVG, PNG and TikZ."""

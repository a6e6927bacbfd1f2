"""Inference over trees without crossing arcs."""

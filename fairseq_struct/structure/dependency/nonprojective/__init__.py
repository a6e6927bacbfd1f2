"""Inference over all trees, with or without crossing arcs."""

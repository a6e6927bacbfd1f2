"""Inference over all trees, crossing arcs among them."""

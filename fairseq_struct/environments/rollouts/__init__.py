"""Policies in many worlds: rollouts to learn from, and episodes to score."""

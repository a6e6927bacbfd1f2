"""Formulas whose brackets tell their trees: ListOps and propositional logic."""

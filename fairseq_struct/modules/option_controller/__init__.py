"""Policies that imitate demonstrations: Option-Controller networks, and their baselines."""

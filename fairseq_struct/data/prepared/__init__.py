"""Prepared folders, and the tools that write them."""

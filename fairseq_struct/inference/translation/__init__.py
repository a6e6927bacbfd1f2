"""Trained translation models: raw text in, detokenised text out."""

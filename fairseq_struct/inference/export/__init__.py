"""Trained models as folders to share: weights as safetensors, options as JSON, dictionaries."""

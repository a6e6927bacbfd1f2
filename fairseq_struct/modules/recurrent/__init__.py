"""Recurrent layers by name, language models and classifiers with them, and LSTMs."""

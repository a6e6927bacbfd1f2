"""Verbs about training: its start, its checkpoints, the plugin's folder."""

"""Training objectives, one file each; registered by ``plugin.load``."""

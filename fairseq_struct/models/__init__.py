"""Model families, one file each, with their architecture presets; registered by ``plugin.load``."""

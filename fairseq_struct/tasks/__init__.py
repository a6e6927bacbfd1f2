"""Tasks, one file each: dictionaries, data sets, validation metrics; see ``plugin.load``."""

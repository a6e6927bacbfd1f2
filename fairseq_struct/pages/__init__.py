"""HTML pages of trees, for the command line."""

"""Trees as pages of HTML, for the command line."""

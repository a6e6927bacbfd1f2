"""What the plugin changes in fairseq's own programs, and looks at before they begin."""

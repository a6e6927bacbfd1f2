"""Changes that the plugin makes to fairseq's own programs, and its checks before training."""

"""Records of results, tables made from records, and training logs."""

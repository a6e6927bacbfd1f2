"""Tools of models that predict the next word."""

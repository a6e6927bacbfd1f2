"""Tools of models that find trees, and of the channels of their arcs."""

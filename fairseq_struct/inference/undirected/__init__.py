"""Tools of trained undirected networks."""

"""SparseMAP over dependency trees: an active set of trees, its face, and the gradient."""

"""Pictures of dependency trees, and of the probabilities of their arcs."""

"""Pictures of labelled trees, and of how sentences are composed to trees."""

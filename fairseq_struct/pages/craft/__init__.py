"""Episodes of environments: their frames and what a controller did."""

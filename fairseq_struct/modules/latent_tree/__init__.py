"""Networks with latent dependency trees: arc scorers, classifiers, attention."""

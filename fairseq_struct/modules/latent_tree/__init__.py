"""Networks along latent dependency trees: parsers, classifiers, attention."""

"""The Dependency Model with Valence (Klein, Manning, 2004), a generative model of tags."""

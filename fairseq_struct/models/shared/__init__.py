"""Options and base classes that several architectures share; nothing here is registered."""

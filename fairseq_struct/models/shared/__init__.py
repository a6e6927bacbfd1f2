"""What several architectures share: options and base classes; nothing here is registered."""

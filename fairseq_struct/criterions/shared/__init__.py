"""What several criterions share; nothing here is registered."""

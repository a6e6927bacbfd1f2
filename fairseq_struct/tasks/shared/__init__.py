"""What several tasks share; nothing here is registered."""

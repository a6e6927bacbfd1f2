"""Pictures of constituents."""

"""Reading files, checking untrusted files, and writing files completely or not at all."""

"""Files as they are read, written whole, and checked before they are trusted."""

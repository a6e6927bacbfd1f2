"""Preparation of corpora as a stream of chunks, in one or more processes."""

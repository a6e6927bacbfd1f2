"""Datasets of fairseq: instances from prepared folders, put into batches."""

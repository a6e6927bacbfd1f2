"""fairseq datasets: they read instances of prepared folders and build batches."""

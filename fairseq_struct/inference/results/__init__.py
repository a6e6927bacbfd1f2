"""What trained models find, as values that can be compared, printed, drawn and written."""

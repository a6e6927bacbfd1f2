"""Words of prepared folders: dictionaries, reserved words, subwords."""

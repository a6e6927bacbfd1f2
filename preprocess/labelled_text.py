"""The same as ``fairseq-struct prepare labelled_text …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "labelled_text", *sys.argv[1:]]))

"""The same as ``fairseq-struct prepare sequence_completion …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "sequence_completion", *sys.argv[1:]]))

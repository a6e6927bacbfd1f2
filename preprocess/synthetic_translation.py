"""The same as ``fairseq-struct prepare synthetic_translation …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "synthetic_translation", *sys.argv[1:]]))

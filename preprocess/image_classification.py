"""The same as ``fairseq-struct prepare image_classification …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "image_classification", *sys.argv[1:]]))

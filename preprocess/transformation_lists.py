"""The same as ``fairseq-struct prepare transformation_lists …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "transformation_lists", *sys.argv[1:]]))

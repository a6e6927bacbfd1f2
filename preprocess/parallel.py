"""The same as ``fairseq-struct prepare parallel …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "parallel", *sys.argv[1:]]))

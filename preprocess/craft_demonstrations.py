"""The same as ``fairseq-struct prepare craft_demonstrations …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "craft_demonstrations", *sys.argv[1:]]))

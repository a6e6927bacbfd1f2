"""The same as ``fairseq-struct prepare propositional_logic …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "propositional_logic", *sys.argv[1:]]))

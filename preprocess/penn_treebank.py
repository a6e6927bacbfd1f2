"""The same as ``fairseq-struct prepare penn_treebank …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "penn_treebank", *sys.argv[1:]]))

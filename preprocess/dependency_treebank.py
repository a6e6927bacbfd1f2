"""The same as ``fairseq-struct prepare dependency_treebank …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "dependency_treebank", *sys.argv[1:]]))

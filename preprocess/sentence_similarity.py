"""The same as ``fairseq-struct prepare sentence_similarity …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "sentence_similarity", *sys.argv[1:]]))

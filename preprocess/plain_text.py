"""The same as ``fairseq-struct prepare plain_text …``."""

import sys

from fairseq_struct.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["prepare", "plain_text", *sys.argv[1:]]))

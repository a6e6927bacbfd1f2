"""Best correlation of each dependency type with a channel, from a table of all channels."""

from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.files.text_files import read_lines
from fairseq_struct.inference import made_by
from fairseq_struct.records.scoring import publish, scoring_options


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="model checkpoint")
    parser.add_argument("--table", type=Path, required=True, help="from fairseq-struct channels")
    args = parser.parse_args()
    _, *rows = (line.split("\t") for line in read_lines(args.table))
    metrics = {name: round(max(map(float, values)), 2) for name, _, *values in rows}
    made = made_by(args.checkpoint)
    args.data += f"; {made['text']}"
    model = made["model"].removesuffix("_ptb")
    publish(args, [{"metrics": metrics}], folder=Path(__file__).parent,
            variant=model, seed=made["seed"], updates=made["updates"])  # fmt: skip


if __name__ == "__main__":
    main()

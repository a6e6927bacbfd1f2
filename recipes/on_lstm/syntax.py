"""Targeted syntactic evaluation of a language model (ON-LSTM paper, table 3)."""

from pathlib import Path

import torch

from fairseq_struct.data.readers.syntactic_evaluation import read_test_sets
from fairseq_struct.errors import report_plainly
from fairseq_struct.evaluation.syntactic import ROWS, evaluate_syntax, in_percent
from fairseq_struct.inference import load_language_model, made_by
from fairseq_struct.records.scoring import publish, scoring_options


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="language-model checkpoint")
    parser.add_argument("--sets", type=Path, required=True, help="folder of .pickle files")
    args = parser.parse_args()
    sets = read_test_sets(args.sets)
    # The record names this device.
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, made = load_language_model(args.checkpoint, device=device), made_by(args.checkpoint)
    found = evaluate_syntax(sets, model.log_probabilities, model.vocabulary.index)
    metrics = in_percent(found)
    args.data = (
        "all pairs of the test sets; told_apart: pairs in which the model knows a word that makes "
        f"the difference; {args.data or made['text']}"
    )
    name = type(model.model).cell
    paper = {row.name: getattr(row, name) for row in ROWS if row.name in metrics}
    publish(args, [{"metrics": metrics, "paper": paper}], folder=Path(__file__).parent,
            variant=name, seed=made["seed"], updates=made["updates"])  # fmt: skip


if __name__ == "__main__":
    main()

"""BLEU of the translations of one variant, and, as a second record, BLEU by length and by beam.

Errors at test that a model has not met in training add up in long sentences, and a wide beam hides
some of them. ``EXPERIMENT_by_length`` has BLEU of each third of the test sentences by the number of
words of their references, and that of all with beam 1.
"""

from pathlib import Path

from fairseq_struct.errors import report_plainly
from fairseq_struct.files.text_files import read_lines
from fairseq_struct.metrics.bleu import corpus_bleu
from fairseq_struct.records.scoring import publish, scoring_options
from fairseq_struct.records.training_log import logged, seconds_of_epochs

THIRDS = ("short", "middle", "long")


def by_length(translations: list[str], references: list[str]) -> dict[str, float]:
    """BLEU of each third of the sentences, by the number of words of the references.

    Equally long ones stay in their order.
    """
    order = sorted(range(len(references)), key=lambda n: len(references[n].split()))
    found = {}
    for place, name in enumerate(THIRDS):
        first, last = (len(order) * edge // len(THIRDS) for edge in (place, place + 1))
        some = order[first:last]
        bleu = corpus_bleu([translations[n] for n in some], [references[n] for n in some])
        found[f"bleu_{name}"] = round(bleu.score, 2)
    return found


def training_facts(logs: list[Path]) -> dict[str, float]:
    """Read from fairseq-train's logs the minutes of training and the best checkpoint.

    Args:
        logs: logs of the shared warm-up, if any, and of the variant.

    Returns:
        ``minutes``. If validation BLEU was logged, also ``best_update``, the update of the best
        checkpoint, and ``bleu_dev_greedy_last``, the greedy BLEU after the last update.
    """
    text = "\n".join(log.read_text(errors="replace") for log in logs)
    entries = list(logged(text.splitlines()))
    # An epoch that begins in the warm-up is in both logs; its last numbers are those of all of it.
    epochs = {entry.values["epoch"]: entry.values for entry in entries if entry.split == "train"}
    facts = {"minutes": round(sum(seconds_of_epochs(epochs).values()) / 60, 1)}
    validations = [x for x in entries if x.split == "valid" and "bleu" in x.values]
    if validations:
        facts["bleu_dev_greedy_last"] = validations[-1].values["bleu"]
        facts["best_update"] = max(validations, key=lambda entry: entry.values["bleu"]).update
    return facts


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    parser.add_argument("--seed", type=int, required=True, help="seed of the training")
    parser.add_argument("--updates", type=int, required=True, help="updates of the training")
    parser.add_argument("--references", type=Path, required=True, help="folder of SPLIT.LANG")
    parser.add_argument("--translations", type=Path, required=True, help="folder of SPLIT.LANG")
    parser.add_argument("--greedy", type=Path, help="folder of the test translated with beam 1")
    parser.add_argument("--target-lang", required=True, help="suffix of the files")
    parser.add_argument("--logs", type=Path, nargs="+", required=True, help="logs of fairseq-train")
    args = parser.parse_args()

    metrics = {}
    for split, name in (("valid", "dev"), ("test", "test")):
        file = f"{split}.{args.target_lang}"
        bleu = corpus_bleu(read_lines(args.translations / file), read_lines(args.references / file))
        metrics[f"bleu_{name}"] = round(bleu.score, 2)
        print(f"{name}: BLEU {bleu.score:.2f} ({bleu.signature})")
    facts = training_facts(args.logs)
    minutes = facts.pop("minutes")
    lengths = {}
    if args.greedy:
        references = read_lines(args.references / file)
        lengths = by_length(read_lines(args.translations / file), references)
        greedy = corpus_bleu(read_lines(args.greedy / file), references)
        lengths |= {"bleu_beam_5": metrics["bleu_test"], "bleu_beam_1": round(greedy.score, 2)}
    for own, numbers in (("", metrics | facts), ("_by_length", lengths)):
        if numbers:
            publish(args, [{"metrics": numbers}], experiment=args.experiment + own,
                    folder=Path(__file__).parent, seed=args.seed, updates=args.updates,
                    minutes=minutes)  # fmt: skip


if __name__ == "__main__":
    main()

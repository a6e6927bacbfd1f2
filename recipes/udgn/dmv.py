"""Score a Dependency Model with Valence, learnt by EM from tags alone, beside trivial trees."""

from collections.abc import Sequence
from pathlib import Path

from score import WSJ_SAMPLE, trivial

from fairseq_struct.data.readers.conllu import Sentence
from fairseq_struct.data.readers.dependency_treebank import read_treebank, without_punctuation
from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.evaluation.predictions import TRIVIAL_HEADS, draws_of
from fairseq_struct.metrics.attachment import scores_of_readings
from fairseq_struct.modules.dmv.counting import counts_of_trees, harmonic_counts, no_counts
from fairseq_struct.modules.dmv.estimation import fit, from_counts
from fairseq_struct.modules.dmv.model import DMV
from fairseq_struct.records.scoring import publish, scoring_options

# First counts of the rows that EM learns: keywords of harmonic_counts, None for equal chances.
STARTS = {
    "dmv": {},
    "dmv_over_modifiers": {"over": "modifiers"},
    "dmv_uniform": None,
    "dmv_attach_valence": {"attach_valence": True},
}
SHORT = 10  # words of the sentences of Klein and Manning
LONGER = {"dmv_20_words": 20}  # most words of the sentences that another row learns from


class Text:
    """Sentences of a treebank without punctuation, and their tags as numbers.

    Args:
        trees: the sentences.
        names: all tags that the model knows.
    """

    def __init__(self, trees: Sequence[Sentence], names: Sequence[str]):
        number = {name: place for place, name in enumerate(names)}
        self.trees = list(trees)
        self.tags = [[number[tag] for tag in tree.tags] for tree in trees]
        self.heads = [tree.heads for tree in trees]

    def scores(self, model: DMV) -> dict[str, float]:
        """``uas`` and ``uuas`` of a model's best trees."""
        return scores_of_readings(self.heads, ({"": own} for own in model.parse(self.tags)))

    def log_prob(self, model: DMV) -> float:
        """Log probability of a word, in nats."""
        return model.log_likelihood(self.tags) / sum(map(len, self.tags))


def words_of(paths: Sequence[Path]) -> list[Sentence]:
    """All sentences of treebanks, without punctuation."""
    trees = (without_punctuation(tree) for path in paths for tree in read_treebank(path))
    return [tree for tree in trees if tree is not None]


def no_longer_than(trees: Sequence[Sentence], most: int, where: object) -> list[Sentence]:
    """Sentences of at most so many words.

    Raises:
        InputError: there is none.
    """
    short = [tree for tree in trees if len(tree.tags) <= most]
    if not short:
        raise InputError(f"{where}: no sentence has at most {most} words without punctuation")
    return short


def learnt(text: Text, tags: int, row: str, smoothing: float, tolerance: float) -> tuple[DMV, int]:
    """The model of a row, and the number of EM's steps."""
    keywords = STARTS.get(row, {})
    counts = no_counts(tags) if keywords is None else harmonic_counts(text.tags, tags, **keywords)
    found = fit(from_counts(counts, smoothing), text.tags, smoothing, tolerance)
    if not found.converged:
        raise InputError(f"{row}: EM has not converged; choose another --tolerance")
    return found.model, len(found.objectives) - 1


def supervised(text: Text, tags: int, smoothing: float) -> DMV:
    """The model of the gold trees of the same sentences."""
    return from_counts(counts_of_trees(text.tags, text.heads, tags), smoothing)


def rows_of_sample(text: Text, gold: Text, names: Sequence[str], *how) -> dict[str, list[dict]]:
    """Metrics of all rows, on short sentences and on all; of random trees several draws."""
    short = Text(no_longer_than(gold.trees, SHORT, gold.trees[0].path), names)
    texts = dict.fromkeys(STARTS, text)
    for row, most in LONGER.items():
        texts[row] = Text(no_longer_than(gold.trees, most, gold.trees[0].path), names)
    rows = {}
    for row, own in texts.items():
        model, steps = learnt(own, len(names), row, *how)
        found = scores_of_sample(model, short, gold)
        rows[row] = [found | {"log_prob": text.log_prob(model), "steps": steps}]
    model = supervised(text, len(names), how[0])
    found = scores_of_sample(model, short, gold)
    rows["dmv_supervised"] = [found | {"log_prob": text.log_prob(model)}]
    for row in TRIVIAL_HEADS:
        rows[row] = [
            {f"{name}_{SHORT}": value for name, value in trivial(short.trees, row, seed).items()}
            | trivial(gold.trees, row, seed)
            for seed in draws_of(row)
        ]
    return rows


def scores_of_sample(model: DMV, short: Text, gold: Text) -> dict[str, float]:
    """``uas`` and ``uuas`` of short sentences and of all."""
    own = {f"{name}_{SHORT}": value for name, value in short.scores(model).items()}
    return own | gold.scores(model)


def row_of_treebank(text: Text, gold: Text, tags: int, *how) -> dict[str, float]:
    """Metrics of one treebank: of the model, of trivial trees, and of a model of gold trees."""
    model, _ = learnt(text, tags, "dmv", *how)
    chains = {name: trivial(gold.trees, name, 1) for name in ("left_chain", "right_chain")}
    return {
        **gold.scores(model),
        **{f"uas_{name}": own["uas"] for name, own in chains.items()},
        "uuas_chain": chains["left_chain"]["uuas"],
        "uas_supervised": gold.scores(supervised(text, tags, how[0]))["uas"],
        "learnt_from": len(text.trees), "sentences": len(gold.trees),
    }  # fmt: skip


def main():
    report_plainly()
    parser = scoring_options(__doc__)
    add = parser.add_argument
    add("--trees", type=Path, required=True, help="treebank to score: a CoNLL-U or .dp file, or a "
        "folder of .dp files")  # fmt: skip
    add("--text", type=Path, nargs="+", help="treebanks to learn from (default: TREES)")
    add("--longest", type=int, required=True, help="most words of a sentence to learn from")
    add("--smoothing", type=float, required=True, help="what is added to every expected count")
    add("--tolerance", type=float, default=1e-5, help="EM ends when a step raises its objective by "
        "less than this share")  # fmt: skip
    args = parser.parse_args()
    sample = args.variant is None
    gold, text = words_of([args.trees]), words_of(args.text or [args.trees])
    if sample and args.results and len(gold) != WSJ_SAMPLE:
        raise InputError(
            f"{args.trees}: {len(gold)} sentences, but records are for the sample of {WSJ_SAMPLE}; "
            "set RECORD=0 to score these sentences without a record"
        )
    names = sorted({tag for tree in (*gold, *text) for tag in tree.tags})
    learning = Text(no_longer_than(text, args.longest, (args.text or [args.trees])[0]), names)
    known, how = Text(gold, names), (args.smoothing, args.tolerance)
    if sample:
        short = sum(len(tree.tags) <= SHORT for tree in gold)
        args.data += f"; {short} of {len(gold)} sentences have up to {SHORT} words"
        rows = rows_of_sample(learning, known, names, *how)
    else:
        rows = {args.variant: [row_of_treebank(learning, known, len(names), *how)]}
    for args.variant, runs in rows.items():
        records = [
            {"metrics": {name: round(value, 2) for name, value in metrics.items()}, "seed": seed}
            for seed, metrics in enumerate(runs, 1)
        ]
        publish(args, records, folder=Path(__file__).parent)


if __name__ == "__main__":
    main()

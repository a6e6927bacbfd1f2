"""``fairseq-struct translate``: raw text into another language."""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from fairseq_struct.cli.shared.answering import Answers, answer, check_paths
from fairseq_struct.cli.shared.output import add_output_options, say
from fairseq_struct.cli.shared.paths import require
from fairseq_struct.cli.shared.trained_models import add_tool_options, load_tool
from fairseq_struct.cli.shared.workers import add_input_options
from fairseq_struct.inference.translation.search_settings import SearchSettings

NAME = "translate"
HELP = "translate raw sentences"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``translate``."""
    add = parser.add_argument
    add("checkpoint", type=Path, help="a trained translation model")
    add("--data", type=Path, help="prepared data-bin, if it was moved since training; the manifest "
        "and the segmentation model lie in the folder around it")  # fmt: skip
    add("--scores", action="store_true", help="write score, tab, translation, tab, log2 p of each "
        "symbol and of the end: the numbers of fairseq-generate's H and P, which --json always has"
        )  # fmt: skip
    add("--beam", type=int, metavar="N", help="hypotheses that the search keeps (default: 5)")
    add("--n-best", type=int, metavar="N", help="translations of each sentence, a line "
        "each (default: 1)")  # fmt: skip
    add("--sample", action="store_true", help="draw translations at random instead of a search")
    add("--top-k", type=int, metavar="K", help="with --sample: draw from the K most likely symbols "
        "(default: from all)")  # fmt: skip
    add("--temperature", type=float, metavar="T", help="with --sample: above 1 for "
        "more variety, below 1 for less (default: 1)")  # fmt: skip
    add("--seed", type=int, help="with --sample: seed of the samples; they do not "
        "depend on batches (default: 1)")  # fmt: skip
    add("--lenpen", type=float, metavar="P", help="score = sum of log p / length^P; "
        "above 1 favours long translations (default: 1)")  # fmt: skip
    add("--min-len", type=int, metavar="N", help="fewest symbols (default: 1)")
    add("--max-len-a", type=float, metavar="A", help="most symbols of a translation: "
        "A times those of the sentence plus B (default: 0)")  # fmt: skip
    add("--max-len-b", type=int, metavar="B", help="see --max-len-a (default: 200)")
    add("--truncate", action="store_true", help="cut sentences that are too long for the model")
    parser.set_defaults(**{field.name: field.default for field in fields(SearchSettings)})
    add_input_options(parser)
    add_output_options(parser, "source, translation, score, tokens and their scores")
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Translate standard input, or --input, one sentence per line, into detokenised text.

    The text is normalised, tokenised and segmented as the training text was, which the manifest
    beside data-bin says. An empty line stays empty. With --n-best N, each sentence has N lines.
    Symbols are subwords if words are segmented. Output appears as soon as no more input is waiting;
    with several workers, 2,000 lines at a time.

    Raises:
        InputError: a sentence, an option or the checkpoint cannot be used, or there is no manifest
            and text is not said to be segmented.
    """
    require(models=[args.checkpoint], folders=[args.data])
    check_paths(args)
    SearchSettings(**_settings(args))  # refuses what is out of range, before the model is loaded
    totals = answer(args, NAME, Translations)
    if count := totals["sentences"]:
        unknown = f"{totals['unknown']} of {totals['read']} symbols unknown to the model"
        say(args, f"{count} sentence{'s' * (count != 1)} translated; {unknown}")
    return 0


class Translations(Answers):
    """Writes the translations of sentences.

    Args:
        args: the command line.

    Raises:
        InputError: the checkpoint or an option cannot be used.
    """

    def __init__(self, args: argparse.Namespace):
        self.args, self.model = args, load_tool(args, NAME)
        self.totals = Counter(sentences=0)

    def __call__(self, lines: Iterable[str]) -> Iterator[tuple[str]]:
        """Yield the translations of each sentence.

        Raises:
            InputError: a sentence is too long.
        """
        for one in self.model.translations(lines, **_settings(self.args)):
            self.totals["sentences"] += 1
            self.totals.update(read=self.model.read, unknown=self.model.unknown)
            self.model.read = self.model.unknown = 0
            own = self.args
            yield (_json(one) if own.json else _lines(one, own.n_best, own.scores),)


def _settings(args: argparse.Namespace) -> dict:
    return {field.name: getattr(args, field.name) for field in fields(SearchSettings)}


def _json(one) -> str:
    return json.dumps(one.to_dict(), ensure_ascii=False) + "\n"


def _lines(one, n_best: int, scores: bool) -> str:
    """The translations of a sentence, a line each."""
    lines = [_line(own, scores) for own in one.alternatives or [one]]
    return "".join(f"{line}\n" for line in lines + [""] * (n_best - len(lines)))


def _line(one, scores: bool) -> str:
    if not scores or one.score is None:
        return one.text
    return f"{one.score:.6f}\t{one.text}\t{' '.join(f'{own:.4f}' for own in one.token_scores)}"

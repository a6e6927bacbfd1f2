"""``fairseq-struct score``: log-probabilities of sentences under a language model."""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairseq_struct.cli.shared.answering import Answers, answer, check_paths
from fairseq_struct.cli.shared.output import add_output_options, say
from fairseq_struct.cli.shared.paths import require
from fairseq_struct.cli.shared.trained_models import add_data_option, add_tool_options, load_tool
from fairseq_struct.cli.shared.workers import add_input_options

NAME = "score"
HELP = "write log-probabilities of raw sentences under a language model, and their perplexity"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``score``."""
    parser.add_argument(
        "checkpoint", type=Path, help="a language model that predicts the next word"
    )
    add_input_options(parser)
    add_output_options(parser, "words, log-probability, that of each word and of the end, and "
        "the words unknown to the model")
    add_data_option(parser, "with the dictionary")
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Score standard input, or --input, one sentence per line; spaces separate the words.

    Each line of output is the log-probability of the sentence and its end in nats, a tab, and the
    number of its words, of which the end is one. The perplexity per word of all sentences and the
    number of unknown words go to standard error. The model reads each sentence by itself. Output
    appears as soon as no more input is waiting; with several workers, 2,000 lines at a time.

    Raises:
        InputError: a sentence or the checkpoint cannot be used.
    """
    require(models=[args.checkpoint], folders=[args.data])
    check_paths(args)
    totals = answer(args, NAME, Scores)
    if count := totals["sentences"]:
        from fairseq_struct.inference.results.sentence_score import perplexity_of

        words = totals["words"]
        perplexity = perplexity_of(totals["log_probability"], words)
        say(args, f"{count} sentence{'s' * (count != 1)}, {words} words with the ends of "
            f"sentences, perplexity {perplexity:.2f}; {totals['unknown']} of {words - count} words "
            "unknown to the model")  # fmt: skip
    return 0


class Scores(Answers):
    """Writes the log-probabilities of sentences.

    Args:
        args: the command line.

    Raises:
        InputError: the checkpoint or an option cannot be used.
    """

    def __init__(self, args: argparse.Namespace):
        self.write, self.model = _json if args.json else _line, load_tool(args, NAME)
        self.totals = Counter(sentences=0)

    def __call__(self, lines: Iterable[str]) -> Iterator[tuple[str]]:
        """Yield the line of each sentence.

        Raises:
            InputError: a sentence is empty.
        """
        for one in self.model.scores(lines):
            words = len(one.word_scores)
            self.totals.update(
                sentences=1, words=words, log_probability=float(one), unknown=len(one.unknown)
            )
            yield (self.write(one),)


def _line(one) -> str:
    return f"{one:.6f}\t{len(one.word_scores)}\n"


def _json(one) -> str:
    return json.dumps(one.to_dict(), ensure_ascii=False) + "\n"

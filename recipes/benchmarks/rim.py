"""Sentences per second of composers, by batches and one by one; and units in one product.

``composition``: gold steps of 256 sentences of 20 words with binary trees drawn at random, by the
thesis's network (5 units, 3 of them active, size 100). All sentences of a batch take the same step
together, those that are finished masked; beside it, the same module takes them one by one.
``error_millionths`` is the largest difference between their losses, times 1e6. ``training`` is the
same with gradients.
``units_N``: a step of the 5 LSTM units for N sentences in one product, against a loop over
``torch.nn.LSTMCell``, forward and backward. The product saves calls, not arithmetic, so the gain is
largest for one sentence, the thesis's batch.
Times are processor times with one thread, else wall-clock times; the kinds alternate, and each
number is the median of rounds that follow an untimed one.

    python recipes/benchmarks/rim.py [--threads 1] [--append]
"""

import time
from collections.abc import Callable
from functools import partial

import timing
import torch
from nltk import Tree
from torch import Tensor, nn

from fairseq_struct.data.readers.bracket_trees import tree_of
from fairseq_struct.data.readers.transformation_lists import steps_of, word_spans
from fairseq_struct.modules.recurrent_mechanisms import RimComposer, follow
from fairseq_struct.modules.recurrent_mechanisms.units import UnitLSTM
from fairseq_struct.structure.spans import random_tree

SENTENCES, WORDS, VOCABULARY, SIZE, UNITS = 256, 20, 5000, 100, 5
ALONE = 8  # sentences that are timed one by one
STEPS = 20


def random_sentences() -> dict[str, Tensor]:
    """Input of a composer: sentences with the steps of random binary trees."""
    generator, rows = torch.Generator().manual_seed(1), []
    for _ in range(SENTENCES):
        tree = tree_of(["word"] * WORDS, random_tree(WORDS, generator))
        for place in tree.treepositions("leaves"):
            tree[place] = Tree("POS", ["word"])
        rows.append(word_spans(steps_of(tree), WORDS))
    spans = torch.tensor(rows)
    return {
        "tokens": torch.randint(4, VOCABULARY, (SENTENCES, WORDS), generator=generator),
        "lengths": torch.full((SENTENCES,), WORDS),
        "starts": spans[..., 0], "ends": spans[..., 1],
        "step_counts": torch.full((SENTENCES,), spans.size(1)),
    }  # fmt: skip


def composition(rounds: Callable, backward: bool = False) -> dict[str, float]:
    """Sentences per second, their ratio, and the largest difference of the losses."""
    network, given = RimComposer(nn.Embedding(VOCABULARY, SIZE), UNITS), random_sentences()

    def losses(rows: slice) -> Tensor:
        with torch.set_grad_enabled(backward):
            found = follow(network, **{name: one[rows] for name, one in given.items()}).losses
            if backward:
                found.sum().backward()
        return found.detach()

    def one_by_one() -> Tensor:
        return torch.cat([losses(slice(n, n + 1)) for n in range(ALONE)])

    error = (losses(slice(None))[:ALONE] - one_by_one()).abs().max()
    times = rounds({"batched": lambda: losses(slice(None)), "single": one_by_one})
    speeds = {"batched": 1000 * SENTENCES / times["batched"],
              "single": 1000 * ALONE / times["single"]}  # fmt: skip
    return {f"sentences_per_second_{name}": round(value, 1) for name, value in speeds.items()} | {
        "ratio": round(speeds["batched"] / speeds["single"], 2),
        "error_millionths": round(1e6 * float(error), 2),
    }  # fmt: skip


def units(rounds: Callable, sentences: int) -> dict[str, float]:
    """Milliseconds of a step of all units, in one product and in a loop, and their ratio."""
    batched = UnitLSTM(UNITS, SIZE, SIZE)
    cells = [nn.LSTMCell(SIZE, SIZE) for _ in range(UNITS)]
    given = torch.randn(3, sentences, UNITS, SIZE)  # inputs, hidden and cell states

    def loop() -> list[Tensor]:
        parts = zip(*(one.unbind(1) for one in given), strict=True)
        found = [own(x, (h, c)) for own, (x, h, c) in zip(cells, parts, strict=True)]
        return [torch.stack(one, 1) for one in zip(*found, strict=True)]

    def steps(step: Callable) -> Callable:
        # Several steps make a round: one is shorter than what a clock can tell.
        return lambda: [sum(one.sum() for one in step()).backward() for _ in range(STEPS)]

    times = rounds({"product": steps(lambda: batched(*given)), "loop": steps(loop)})
    return {
        f"milliseconds_{name}": round(value / STEPS, 3) for name, value in times.items()
    } | {"ratio": round(times["loop"] / times["product"], 2)}


BENCHMARKS: dict[str, Callable] = {
    "composition": composition, "training": partial(composition, backward=True),
    **{f"units_{count}": partial(units, sentences=count) for count in (1, 8, 64)},
}  # fmt: skip


def main():
    options = timing.options_of(__doc__, 9, "timed rounds")
    options.add_argument("--only", choices=BENCHMARKS, help="run one of them (default: all)")
    setting = timing.parsed(options)
    rounds = partial(
        timing.milliseconds, repeats=setting.repeats, untimed=False, dropped=1,
        clock=time.process_time if setting.threads == 1 else time.perf_counter,
    )  # fmt: skip
    for variant in [setting.only] if setting.only else BENCHMARKS:
        torch.manual_seed(1)
        timing.report(
            setting, "rim", variant, BENCHMARKS[variant](rounds),
            f"{UNITS} units of {SIZE}, {SENTENCES} sentences of {WORDS} words, "
            f"{setting.repeats} repeats",
        )  # fmt: skip


if __name__ == "__main__":
    main()

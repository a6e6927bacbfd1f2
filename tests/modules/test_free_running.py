"""Own spans against brute force, and gold spans that come back as trees."""

import itertools
import math
from dataclasses import dataclass, replace

import pytest
import torch
from nltk import Tree
from step_trees import tree_of_steps
from torch import nn
from torch.nn.functional import logsigmoid

from fairseq_struct.data.readers.bracket_trees import leaves_of, spans_of, to_line
from fairseq_struct.data.readers.transformation_lists import steps_of, word_spans
from fairseq_struct.errors import NotFiniteScores
from fairseq_struct.metrics.bracketing import BracketingScores
from fairseq_struct.modules.recurrent_mechanisms import (
    Composer,
    LstmComposer,
    RimComposer,
    compose_freely,
)
from fairseq_struct.modules.recurrent_mechanisms.free_running import allowed_steps, log_total
from fairseq_struct.modules.recurrent_mechanisms.free_spans import best_span
from fairseq_struct.modules.recurrent_mechanisms.symbols import (
    Composed,
    Symbols,
    gold_span,
    live_after,
)

TREES = [
    "(S (NP (DT the) (NN cat)) (VP (V saw) (NP (DT a) (JJ big) (NN dog) (PP (P in) (N town)))))",
    "(S (A a) (B (C b) (D c)))",
    "(S (A a) (B b) (C c) (D d))",
    "(S (X (X (A a) (B b)) (C c)) (D d))",
    "(A a)",
]
RIM_OPTIONS = [{}, {"layers": 2, "positions": "from_right"}, {"span_attention": "softmax"}]


@dataclass(frozen=True)
class Counted(Symbols):
    """Symbols, and the number of steps that were taken."""

    taken: torch.Tensor
    which: torch.Tensor


class Oracle(Composer):
    """A composer whose attention is the gold span, and whose category is the gold one."""

    size = 2

    def __init__(self, spans, categories, certainty=3.0):
        super().__init__()
        steps = max(map(len, spans))
        table = [list(own) + [(0, 1)] * (steps - len(own)) for own in spans]
        self.spans, self.certainty = torch.tensor(table), certainty
        self.numbers = [list(own) + [0] * (steps - len(own)) for own in categories]
        self.categories = nn.Identity()

    def begin(self, tokens, lengths):
        live = torch.arange(tokens.size(1)) < lengths[:, None]
        which = torch.arange(len(tokens))
        return Counted(live, torch.zeros(len(tokens), dtype=torch.long), which)

    def step(self, state):
        at = state.taken.clamp(max=self.spans.size(1) - 1)
        start, end = self.spans[state.which, at].unbind(1)
        odds = torch.where(gold_span(state.live, start, end), self.certainty, -self.certainty)
        numbers = torch.tensor(self.numbers)[state.which, at]
        scores = torch.nn.functional.one_hot(numbers, 99).float()
        return Composed(logsigmoid(odds), logsigmoid(-odds), state.live, scores, None, None)

    def replace(self, state, composed, span, going):
        live = live_after(state.live, span, going)
        return replace(state, live=live, taken=state.taken + going)


def batch_of(lengths):
    lengths = torch.tensor(lengths)
    tokens = torch.arange(int(lengths.max())).remainder(7).add(1).repeat(len(lengths), 1)
    return tokens.masked_fill(torch.arange(tokens.size(1)) >= lengths[:, None], 0), lengths


def composers():
    for options in (*RIM_OPTIONS, "lstm"):
        torch.manual_seed(5)
        words = nn.Embedding(9, 8, 0)
        with torch.no_grad():
            words.weight *= 3
        if options == "lstm":
            yield LstmComposer(words, categories=4).double().eval()
        else:
            yield RimComposer(words, 3, 2, categories=4, **options).double().eval()


@pytest.mark.parametrize("beam", [1, 3])
def test_gold_spans_as_attention_give_the_gold_trees(beam):
    trees = list(map(Tree.fromstring, TREES))
    words, steps = list(map(leaves_of, trees)), list(map(steps_of, trees))
    spans = [word_spans(own, len(sentence)) for own, sentence in zip(steps, words, strict=True)]
    names = sorted({step.category for own in steps for step in own})
    numbers = [[names.index(step.category) for step in own] for own in steps]
    found = compose_freely(Oracle(spans, numbers), *batch_of(list(map(len, words))), beam)
    assert found.spans() == spans
    scores = BracketingScores()
    for row, tree in enumerate(trees):
        categories = [names[number] for number in found.categories[row] if number >= 0]
        rebuilt = tree_of_steps(words[row], [
            (old.start, old.end, new) for old, new in zip(steps[row], categories, strict=True)
        ])  # fmt: skip
        assert to_line(rebuilt) == to_line(tree)
        own = [span for span in found.spans()[row] if span[1] - span[0] > 1]
        scores.add(own, [span for _, span in spans_of(tree)], len(words[row]))
    assert scores.f1_sentence == scores.f1_corpus == 100


def states(n):
    """Every state of a sentence of n words: words not yet tagged, and places that are live."""
    for untagged in range(n + 1):
        for rest in itertools.product([False, True], repeat=max(n - untagged - 1, 0)):
            done = [True, *rest] if untagged < n else []
            live = [True] * untagged + done
            yield untagged, live


def brute_steps(odds, live, untagged):
    """The allowed steps, (last place, first place) -> sum; tagging is (-1, -1)."""
    done = [place for place in range(untagged, len(live)) if live[place]]
    found = {(-1, -1): odds[untagged - 1]} if untagged else {}
    for at, first in enumerate(done):
        for last in done[at + 1 :]:
            found[last, first] = sum(odds[place] for place in done if first <= place <= last)
    return found


@pytest.mark.parametrize("n", range(1, 7))
def test_best_span_and_its_probability_against_all_spans(n):
    generator = torch.Generator().manual_seed(n)
    for untagged, live in states(n):
        # Halves, so that sums are often equal, and exact.
        odds = torch.randint(-6, 7, (n,), generator=generator).double() / 2
        odds = odds.masked_fill(~torch.tensor(live), 0)
        brute = brute_steps(odds.tolist(), live, untagged)
        if not brute:
            continue
        best = max(brute.values())
        last, first = min(step for step, value in brute.items() if value == best)
        expected = [place == untagged - 1 if last < 0 else first <= place <= last and live[place]
                    for place in range(n)]  # fmt: skip
        given = odds[None], torch.tensor([live]), torch.tensor([untagged])
        assert best_span(*given)[0].tolist() == expected
        steps = allowed_steps(*given)[0]
        places = [0 if last < 0 else 1 + last * n + first for last, first in brute]
        assert steps[places].tolist() == list(brute.values())
        assert steps.isfinite().sum() == len(brute)
        total = math.log(sum(map(math.exp, brute.values())))
        assert float(log_total(*given)) == pytest.approx(total, abs=1e-12)


def every_sequence(composer, tokens, lengths):
    """All sequences of steps of one sentence, (log p, spans of words, root)."""
    n = int(lengths[0])

    def go_on(state, untagged, score, spans, root):
        if untagged == 0 and int(state.live.sum()) == 1:
            yield score, tuple(spans), root
            return
        composed = composer.step(state)
        odds = (composed.log_inside - composed.log_outside)[0].tolist()
        live = state.live[0].tolist()
        brute = brute_steps(odds, live, untagged)
        total = math.log(sum(map(math.exp, brute.values())))
        for (last, first), value in brute.items():
            first, last = (untagged - 1,) * 2 if last < 0 else (first, last)
            ends = [place for place in range(last + 1, n) if live[place]]
            span = torch.tensor([[live[i] and first <= i <= last for i in range(n)]])
            after = composer.replace(state, composed, span, torch.tensor([True]))
            step = (first, ends[0] if ends else n)
            yield from go_on(after, untagged - (first < untagged), score + value - total,
                             [*spans, step], composed.symbols[0])  # fmt: skip

    yield from go_on(composer.begin(tokens, lengths), n, 0.0, [], None)


@torch.no_grad()
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_wide_beam_finds_the_best_of_all_sequences(n):
    for composer in composers():
        tokens, lengths = batch_of([n])
        every = list(every_sequence(composer, tokens, lengths))
        assert math.fsum(math.exp(score) for score, *_ in every) == pytest.approx(1)
        score, spans, root = max(every, key=lambda one: one[0])
        found = compose_freely(composer, tokens, lengths, beam=len(every))
        assert found.spans() == [list(spans)]
        assert float(found.log_probabilities) == pytest.approx(score, abs=1e-10)
        assert torch.allclose(found.symbols[0], root, rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("beam", [1, 4])
def test_a_batch_is_its_sentences_and_each_ends_in_one_tree(beam):
    sizes = [7, 1, 2, 12, 4]
    for composer in composers():
        tokens, lengths = batch_of(sizes)
        both = compose_freely(composer, tokens, lengths, beam, keep=True)
        for row, size in enumerate(sizes):
            alone = compose_freely(composer, tokens[row : row + 1, :size], lengths[row : row + 1],
                                   beam, keep=True)  # fmt: skip
            spans = both.spans()[row]
            assert spans == alone.spans()[0]
            count = len(spans)
            assert size + (size > 1) <= count <= 2 * size - 1
            assert both.categories[row, :count].tolist() == alone.categories[0].tolist()
            assert both.categories[row, count:].eq(-1).all()
            for name in ("symbols", "log_probabilities"):
                ours, theirs = getattr(both, name)[row], getattr(alone, name)[0]
                assert torch.allclose(ours, theirs, rtol=0, atol=1e-10)
            live = alone.live[0]
            assert torch.equal(both.live[row, :count, :size], live)
            ours, theirs = both.attention[row, :count, :size], alone.attention[0]
            assert torch.allclose(ours[live], theirs[live], rtol=0, atol=1e-10)
            if both.shares is not None:
                assert torch.allclose(both.shares[row, :count], alone.shares[0], rtol=0, atol=1e-10)
            # The whole sentence comes last, words from right to left, and no two spans cross.
            assert spans[-1] == (0, size)
            words = [start for start, end in spans if end == start + 1]
            assert words == list(range(size))[::-1]
            for (a, b), (c, d) in itertools.combinations(spans, 2):
                assert b <= c or d <= a or (c <= a and b <= d) or (a <= c and d <= b)


def test_a_beam_of_one_is_the_best_step_each_time():
    """Also where sums are equal: halves as log-odds, drawn anew in every state."""
    from fairseq_struct.modules.recurrent_mechanisms import free_running

    generator = torch.Generator().manual_seed(3)
    for untagged, live in states(6):
        if untagged == 0 and sum(live) == 1:
            continue
        odds = torch.randint(-4, 5, (5, 6), generator=generator).double() / 2
        live = torch.tensor([live]).expand(5, -1)
        given = (odds.masked_fill(~live, 0), live, torch.full((5,), untagged),
                 torch.ones(5, dtype=torch.bool), torch.zeros(5, dtype=torch.double))  # fmt: skip
        greedy, beam = free_running._best_steps(*given, 1), free_running._beam_steps(*given, 1)
        for name in ("parents", "firsts", "lasts"):
            assert torch.equal(getattr(greedy, name), getattr(beam, name))
        assert torch.allclose(greedy.scores, beam.scores, rtol=0, atol=1e-12)


@torch.no_grad()
def test_a_wider_beam_finds_nothing_less_likely_than_a_narrow_one_here():
    for composer in composers():
        found = [compose_freely(composer, *batch_of([6, 3]), beam).log_probabilities
                 for beam in (1, 50)]  # fmt: skip
        assert (found[1] >= found[0] - 1e-10).all()


@pytest.mark.parametrize(
    ("rows", "lengths", "beam", "message"),
    [
        (1, [2], 0, "beam must be 1 or more"),
        (1, [2], 1.5, "beam must be an integer"),
        (2, [2, 0], 1, "sentence 1 has length 0; allowed are 1 to 2"),
        (2, [3, 1], 1, "sentence 0 has length 3; allowed are 1 to 2"),
        (0, [], 1, "the batch is empty; it needs 1 sentence or more"),
    ],
)
def test_what_cannot_be_composed(rows, lengths, beam, message):
    tokens, lengths = torch.ones(rows, 2).long(), torch.tensor(lengths).long()
    for composer in composers():
        with pytest.raises(ValueError, match=message):
            compose_freely(composer, tokens, lengths, beam=beam)


@pytest.mark.parametrize("beam", [1, 2])
def test_a_composer_that_has_diverged_gives_no_tree(beam):
    for composer in composers():
        nn.init.constant_(composer.words.weight, math.nan)
        with pytest.raises(NotFiniteScores, match="the composer's scores are NaN"):
            compose_freely(composer, *batch_of([2]), beam=beam)

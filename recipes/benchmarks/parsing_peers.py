"""Sentences per second of dependency parsers: UDGN's and the undirected one, supar's and stanza's.

From integers to single-root trees that may have crossing arcs, for one batch of 32 sentences of 30
words. All networks read vectors of 100 (supar's of words and tags, stanza's of words and lemmas, 50
each) through three BiLSTM layers of 400 in each direction, and have random weights. supar's and
stanza's also score 40 relations, for which the others have no layer. Three numbers: of the network
alone; with trees where it is sure of one tree, as trained parsers mostly are (a constant is added
to the scores of its arcs); and with trees where it is not, which is the worst case, for which supar
and stanza search in Python. The kinds alternate, each timed run follows an untimed one, and each
number is a median. Without supar or stanza, the others are measured.

    pip install supar==1.1.4 stanza==1.15.0
    python recipes/benchmarks/parsing_peers.py [--threads 1] [--append]
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import timing
import torch
from torch import Tensor, nn

from fairseq_struct.modules.masked_lm.head_parser import HeadParser
from fairseq_struct.modules.sentence_encoder import SentenceEncoder
from fairseq_struct.modules.undirected.parser import UndirectedParser
from fairseq_struct.structure.dependency import spanning_trees

SENTENCES, LENGTH, VOCABULARY, RELATIONS = 32, 30, 10_000, 40
EMBEDDING, DIRECTION, LAYERS = 100, 400, 3
SURE = 100.0  # added to the scores of one tree


class Parser(NamedTuple):
    """A parser of the batch.

    Args:
        scores: computes what the network gives.
        trees: computes heads (batch, n), 1-based, 0 for the root, from what the network gives and
            the scores (batch, n + 1, n + 1) [modifier, head], the root first, that are added.
    """

    scores: Callable[[], object]
    trees: Callable[[object, Tensor], Tensor]


def tokens() -> Tensor:
    """The batch, (batch, n); 0 and 1 are padding and unknown words."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(2, VOCABULARY, (SENTENCES, LENGTH), generator=generator)


def random_heads() -> Tensor:
    """A tree with a single root for each sentence, (batch, n)."""
    generator = torch.Generator().manual_seed(2)
    heads = torch.zeros(SENTENCES, LENGTH, dtype=torch.long)
    for sentence in heads:
        words = torch.randperm(LENGTH, generator=generator)
        for count, word in enumerate(words[1:], 1):
            sentence[word] = 1 + words[torch.randint(count, (1,), generator=generator)]
    return heads


def of_tree(heads: Tensor) -> Tensor:
    """Scores that are added for one tree, (batch, n + 1, n + 1) [modifier, head]."""
    added = torch.zeros(SENTENCES, LENGTH + 1, LENGTH + 1)
    added[:, 1:] = SURE * nn.functional.one_hot(heads, LENGTH + 1)
    return added


def _our_scores(added: Tensor) -> Tensor:
    """The same in our layout: [head, modifier], the root on the diagonal."""
    ours = added[:, 1:, 1:].transpose(1, 2).clone()
    ours.diagonal(0, 1, 2).add_(added[:, 1:, 0])
    return ours


def udgn() -> Parser:
    """The parser of UDGN."""
    network = HeadParser(nn.Embedding(VOCABULARY, EMBEDDING), EMBEDDING, DIRECTION, LAYERS).eval()
    words, lengths = tokens(), torch.full((SENTENCES,), LENGTH)
    return Parser(
        lambda: network(words, lengths),
        lambda found, added: spanning_trees(found + _our_scores(added), lengths),
    )


def undirected() -> Parser:
    """The undirected parser with one pass, which is a biaffine parser."""
    embedding = nn.Embedding(VOCABULARY, EMBEDDING, 0)
    network = UndirectedParser(SentenceEncoder(embedding, 2 * DIRECTION, LAYERS)).eval()
    nn.init.normal_(network.graph.factors["arcs"].weight)
    words, lengths = tokens(), torch.full((SENTENCES,), LENGTH)
    return Parser(
        lambda: network(words, lengths).trees.scores,
        lambda found, added: spanning_trees(found + _our_scores(added), lengths),
    )


def supar() -> Parser:
    """supar's biaffine parser."""
    from supar.models.dep import BiaffineDependencyModel

    network = BiaffineDependencyModel(
        VOCABULARY, RELATIONS, n_tags=VOCABULARY, feat=["tag"], n_embed=EMBEDDING // 2,
        n_pretrained=EMBEDDING // 2, n_feat_embed=EMBEDDING // 2, n_lstm_hidden=DIRECTION,
        n_lstm_layers=LAYERS,
    ).eval()  # fmt: skip
    words = nn.functional.pad(tokens(), (1, 0), value=1)  # the root
    mask = torch.ones_like(words, dtype=torch.bool)
    mask[:, 0] = False

    def trees(found: tuple[Tensor, Tensor], added: Tensor) -> Tensor:
        arcs, relations = found
        return network.decode(arcs + added, relations, mask, tree=True)[0][:, 1:]

    return Parser(lambda: network(words, [words]), trees)


class Names(list):
    """A vocabulary, of which stanza's parser wants the number of entries and their names."""

    def unmap(self, indices: list[int]) -> list[str]:
        """The names of some entries."""
        return [self[index] for index in indices]


def stanza() -> Parser:
    """stanza's graph parser, without characters, tags and pretrained vectors."""
    import numpy
    from stanza.models.common.vocab import VOCAB_PREFIX_SIZE
    from stanza.models.depparse.model import GraphParser
    from stanza.models.parser import build_argparse

    setting = vars(build_argparse().parse_args(["--no_char", "--no_pretrain"])) | {
        "word_emb_dim": EMBEDDING // 2, "tag_emb_dim": 0, "hidden_dim": DIRECTION,
        "num_layers": LAYERS,
    }  # fmt: skip
    relations = Names(f"relation{number}" for number in range(RELATIONS + VOCAB_PREFIX_SIZE))
    entries = Names(map(str, range(VOCABULARY)))
    network = GraphParser(setting, {"word": entries, "lemma": entries, "deprel": relations}).eval()
    words = nn.functional.pad(tokens(), (1, 0), value=3)  # the root
    heads, lengths = torch.zeros(SENTENCES, LENGTH, dtype=torch.long), [LENGTH + 1] * SENTENCES
    inputs = dict.fromkeys(
        ("word_mask", "wordchars", "wordchars_mask", "upos", "xpos", "ufeats", "pretrained",
         "deprel", "word_orig_idx", "wordlens", "text")
    )  # fmt: skip
    inputs |= {"word": words, "lemma": words, "head": heads, "sentlens": lengths}

    def trees(found: list[numpy.ndarray], added: Tensor) -> Tensor:
        arcs, *labels = found
        parsed = network.decode_graph_predictions(
            relations, SENTENCES, [arcs + added.numpy(), *labels], lengths
        )
        return torch.tensor([[int(head) for head, _ in sentence] for sentence in parsed])

    return Parser(lambda: network(**inputs)[1], trees)


PARSERS = {"udgn": udgn, "undirected_parser": undirected, "supar": supar, "stanza": stanza}


def installed() -> dict[str, Parser]:
    """The parsers that can be measured here."""
    found = {}
    for name, make in PARSERS.items():
        if name in ("supar", "stanza") and not find_spec(name):
            print(f"{name} is not installed, and left out")
            continue
        torch.manual_seed(1)
        found[name] = make()
    return found


@torch.inference_mode()
def sentences_per_second(parsers: dict[str, Parser], repeats: int) -> dict[str, dict[str, float]]:
    """The metrics of each parser.

    Raises:
        AssertionError: a parser that is sure of a tree finds another one.
    """
    heads = random_heads()
    sure = of_tree(heads)
    unsure = torch.zeros_like(sure)
    runs = {
        name: {
            "network": one.scores,
            "sure": lambda one=one: one.trees(one.scores(), sure),
            "unsure": lambda one=one: one.trees(one.scores(), unsure),
        }
        for name, one in parsers.items()
    }
    for name, kinds in runs.items():
        assert torch.equal(kinds["sure"](), heads), name
    calls = {(name, kind): run for name, kinds in runs.items() for kind, run in kinds.items()}
    times = timing.milliseconds(calls, repeats)
    return {
        name: {f"sentences_per_second_{kind}": round(1000 * SENTENCES / times[name, kind])
               for kind in kinds}
        for name, kinds in runs.items()
    }  # fmt: skip


def main():
    setting = timing.parsed(timing.options_of(__doc__, 5, "timed runs of each"))
    for name, metrics in sentences_per_second(installed(), setting.repeats).items():
        timing.report(
            setting, "parsing_peers", name, metrics,
            f"{SENTENCES} sentences of {LENGTH} words at once, three BiLSTM layers of {DIRECTION} "
            f"in each direction, random weights; {setting.repeats} repeats",
        )  # fmt: skip


if __name__ == "__main__":
    main()

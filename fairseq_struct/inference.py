"""Trained models in Python: ``fairseq_struct.load("checkpoint.pt").parse(["a sentence"])``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from fairseq_struct import compat, plugin
from fairseq_struct.errors import InputError
from fairseq_struct.structure.heads import depths as depths_of

# Sentences that go through a model side by side.
BATCH = 64


@dataclass(frozen=True)
class Analysis:
    """What a model makes of one instance.

    Attributes:
        sentences: its sentences, as words.
        label: the most likely label; None for a model that gives none.
        probabilities: of all labels.
        heads: for each sentence the heads of its best latent tree, 1-based, 0 the root; None for
            a model without trees.
        depths: for each sentence the most arcs between the root and a word; None likewise.
    """

    sentences: tuple[tuple[str, ...], ...]
    label: str | None
    probabilities: dict[str, float]
    heads: tuple[tuple[int, ...], ...] | None
    depths: tuple[int, ...] | None


class Classifier:
    """A trained classifier of sentences, or of pairs of them.

    Args:
        model: a fairseq model with ``sides``, such as ``LatentTreeClassifierModel``.
        words, labels: its dictionaries.
        longest_sentence: most words of a sentence, 0 for any number.
        truncate: cut longer ones instead of refusing them.
        lower: lower-case words, as the training text was.
    """

    def __init__(
        self, model, words, labels, longest_sentence: int = 0, truncate: bool = False,
        lower: bool = False,
    ):  # fmt: skip
        self.model = model.eval()
        self.words = words
        self.label_names = labels.symbols[labels.nspecial :]
        self.longest_sentence = longest_sentence
        self.truncate = truncate
        self.lower = lower

    @property
    def sides(self) -> int:
        """Sentences per instance, 1 or 2."""
        return self.model.sides

    def analyse(self, instances: Iterable[Sequence[str]]) -> Iterator[Analysis]:
        """Labels and trees of instances, in order.

        Args:
            instances: of one sentence or two, words separated by spaces.

        Raises:
            InputError: another number of sentences, or one that is empty or too long; with the
                instance's number, counted from 1.
        """
        batch: list[tuple[tuple[str, ...], ...]] = []
        for number, instance in enumerate(instances, 1):
            batch.append(self._words(number, instance))
            if len(batch) == BATCH:
                yield from self._analyse(batch)
                batch = []
        if batch:
            yield from self._analyse(batch)

    def classify(self, instances: Iterable[Sequence[str]]) -> list[str]:
        """The most likely labels."""
        return [analysis.label for analysis in self.analyse(instances)]

    def parse(self, sentences: Iterable[str]) -> list[tuple[int, ...]]:
        """Heads of the latent trees of sentences, 1-based, 0 the root.

        Raises:
            InputError: the model has no trees, and as for :meth:`analyse`.
        """
        return [analysis.heads[0] for analysis in self.trees(sentences)]

    def trees(self, sentences: Iterable[str]) -> Iterator[Analysis]:
        """As :meth:`parse`, but everything about each sentence.

        A model of pairs reads every sentence as both of them; trees do not depend on the other.
        """
        if self.model.tree is None:
            raise InputError("this model was trained without trees (--latent-method baseline)")
        return self.analyse((sentence,) * self.sides for sentence in sentences)

    def _words(self, number: int, instance: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        if isinstance(instance, str) or len(instance) != self.sides:
            found = 1 if isinstance(instance, str) else len(instance)
            raise InputError(
                f"line {number}: {found} sentence(s); this model reads {self.sides} at a time"
            )
        split = tuple(_words(number, sentence) for sentence in instance)
        for words in split:
            if self.longest_sentence and len(words) > self.longest_sentence and not self.truncate:
                raise InputError(
                    f"line {number}: {len(words)} words, more than the longest sentence allowed, "
                    f"{self.longest_sentence}; --truncate cuts it"
                )
        return tuple(words[: self.longest_sentence or None] for words in split)

    @torch.inference_mode()
    def _analyse(self, batch: list[tuple[tuple[str, ...], ...]]) -> Iterator[Analysis]:
        lengths = torch.tensor([[len(words) for words in one] for one in batch])
        tokens = torch.full((*lengths.shape, int(lengths.max())), self.words.pad())
        for row, one in enumerate(batch):
            for side, words in enumerate(one):
                known = (word.lower() if self.lower else word for word in words)
                indices = [self.words.index(word) for word in known]
                tokens[row, side, : len(words)] = torch.tensor(indices)
        device = next(self.model.parameters()).device
        output = self.model(tokens.to(device), lengths.to(device))
        chances = output.logits.float().softmax(1).tolist()
        heads = depths = None
        if output.arc_scores is not None:
            heads = self.model.heads(output).tolist()
            depths = self.model.tree_depths(output).view(lengths.shape).tolist()
        for row, one in enumerate(batch):
            probabilities = dict(zip(self.label_names, chances[row], strict=True))
            yield Analysis(
                one,
                max(probabilities, key=probabilities.__getitem__),
                probabilities,
                heads and tuple(
                    tuple(h[: len(words)]) for h, words in zip(heads[row], one, strict=True)
                ),
                depths and tuple(depths[row]),
            )  # fmt: skip


class TranslationParser:
    """The parser inside of a trained ``latent_tree_transformer``.

    Args:
        encoder: a ``LatentTreeEncoder``.
        words: the source dictionary.
    """

    def __init__(self, encoder, words):
        self.encoder = encoder.eval()
        self.words = words

    def parse(self, sentences: Iterable[str]) -> list[tuple[int, ...]]:
        """Heads of the latent trees of sentences, 1-based, 0 the root."""
        return [analysis.heads[0] for analysis in self.trees(sentences)]

    @torch.inference_mode()
    def trees(self, sentences: Iterable[str]) -> Iterator[Analysis]:
        """Trees of sentences that are segmented as in training, in order.

        Raises:
            InputError: an empty sentence.
        """
        device = next(self.encoder.parameters()).device
        for number, sentence in enumerate(sentences, 1):
            words = _words(number, sentence)
            special, unknown = self.words.nspecial, self.words.unk()
            tokens = [self.words.index(word) for word in words]
            tokens = [token if token >= special else unknown for token in tokens]
            tokens.append(self.words.eos())
            scores, lengths = self.encoder.arc_scores(torch.tensor([tokens], device=device))
            heads = self.encoder.tree.heads(scores, lengths)
            depth = int(depths_of(heads, lengths))
            yield Analysis((words,), None, {}, (tuple(heads[0].tolist()),), (depth,))


def _words(number: int, sentence: str) -> tuple[str, ...]:
    words = tuple(sentence.split())
    if not words:
        raise InputError(f"line {number}: empty sentence")
    return words


def read_lines(stream: Iterable[str]) -> Iterator[str]:
    """Lines of text without their ends.

    Raises:
        InputError: they are not in the encoding of the terminal, UTF-8 as a rule.
    """
    try:
        for line in stream:
            line.encode()  # in some places Python reads bytes that are no text all the same
            yield line.rstrip("\r\n")
    except UnicodeError as error:
        raise InputError(f"the input is not {error.encoding}: {error.reason}") from None


def load(
    checkpoint: str | Path, data: str | Path | None = None, truncate: bool = False
) -> Classifier | TranslationParser:
    """Load a trained model with latent trees: a classifier, or the parser of a translation model.

    Args:
        checkpoint: a file that fairseq-train wrote.
        data: folder with its dictionaries; the one it was trained with if not given.
        truncate: cut sentences that are longer than the model's ``--longest-sentence``.

    Raises:
        InputError: the file is missing or damaged, or no model that this function can use; or
            ``truncate`` for a model that takes sentences of any length.
    """
    plugin.load()
    from fairseq import checkpoint_utils, tasks

    from fairseq_struct.models.latent_tree_classifier import TreeModel
    from fairseq_struct.models.latent_tree_transformer import LatentTreeTransformer

    if not Path(checkpoint).is_file():
        raise InputError(f"{checkpoint}: no such file")
    # This one says what is wrong with a damaged file, fairseq's own adds what old ones lack.
    found = set(compat.load_state(checkpoint))
    if not {"args", "cfg"} & found or "model" not in found:
        raise InputError(f"{checkpoint}: not written by fairseq-train")
    state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoint))
    cfg = state.get("cfg")
    if not cfg or "task" not in cfg:
        raise InputError(f"{checkpoint}: written by a fairseq that is too old")
    if data is not None:
        cfg["task"]["data"] = str(data)
    if "embed_path" in cfg["model"]:
        cfg["model"]["embed_path"] = None  # the vectors are in the checkpoint
    if "heads_path" in cfg["task"]:
        cfg["task"]["heads_path"] = None
    folder = Path(str(cfg["task"]["data"]))
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder, and the dictionaries are in it; name another")
    task = tasks.setup_task(cfg["task"])
    model = task.build_model(cfg["model"])
    if not isinstance(model, TreeModel | LatentTreeTransformer):
        raise InputError(f"{checkpoint}: a {type(model).__name__}, which infers no trees")
    try:
        model.load_state_dict(state["model"], strict=True, model_cfg=cfg["model"])
    except RuntimeError as error:
        raise InputError(
            f"{checkpoint}: does not fit the dictionaries in {folder} "
            f"({str(error).splitlines()[-1].strip()})"
        ) from None
    if isinstance(model, LatentTreeTransformer):
        if truncate:
            raise InputError(f"{checkpoint}: takes sentences of any length, --truncate has no use")
        return TranslationParser(model.encoder, task.source_dictionary)
    longest = cfg["task"]["longest_sentence"]
    truncate = truncate or cfg["task"]["truncate"]
    return Classifier(model, task.words, task.labels, longest, truncate, task.lower)

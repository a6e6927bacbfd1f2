"""The tool of trained translation models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import torch
from fairseq.data.data_utils import collate_tokens
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import index_of
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.reading import BATCH_WORDS, RawSentence, by_length, text_of
from fairseq_struct.inference.results.sequence_of_results import Results
from fairseq_struct.inference.results.translation import Translation
from fairseq_struct.inference.translation.raw_text import RawText, SegmentedText
from fairseq_struct.inference.translation.sampling import SampledSearch
from fairseq_struct.inference.translation.search_settings import SearchSettings


class _Sentence(NamedTuple):
    number: int
    text: str
    tokens: Tensor  # its symbols and the end; only the end for a blank sentence


class Translator:
    """Translates raw text, or text that is segmented already.

    Args:
        model: an encoder and a decoder of fairseq, trained with the task ``translation``.
        source, target: its dictionaries.
        text: maps raw text to symbols and back.
        left_pad: whether sources are padded at their beginning, as in training.
        batch_words: most symbols of a batch, padding included; a search needs ``beam`` times the
            memory.
    """

    def __init__(
        self, model, source, target, text: RawText | SegmentedText, left_pad: bool = True,
        batch_words: int = BATCH_WORDS,
    ):  # fmt: skip
        self.model, self.source, self.target = model.eval(), source, target
        self.text, self.left_pad, self.batch_words = text, left_pad, batch_words
        self.positions, self._of_target = model.max_positions()
        # Symbols read so far, and those of them that the model does not know.
        self.read, self.unknown = 0, 0

    def translate(self, sentences: Iterable[RawSentence], **settings) -> Results:
        """Translate sentences, in order, into a list of :class:`.Translation`.

        A blank sentence has a blank translation.

        Args:
            sentences: raw text; words in a list are joined by spaces, and are raw text, too.
            settings: ``beam=5``, ``n_best=1``, and others of :class:`.SearchSettings`.

        Raises:
            InputError: a sentence is too long, or a setting is out of range.
        """
        return Results(self.translations(sentences, **settings))

    def translations(
        self, sentences: Iterable[RawSentence], **settings
    ) -> Iterator[Translation]:
        """As :meth:`translate`, as an iterator, which waits for as few sentences as possible."""
        try:
            chosen = SearchSettings(**settings)
        except TypeError as error:
            raise InputError(f"translate: {str(error).partition('() ')[2] or error}") from None
        chosen.check_lengths(self._of_target)
        return by_length(
            sentences, partial(self._translated, settings=chosen),
            partial(self._sentence, truncate=chosen.truncate),
            lambda sentence: len(sentence.tokens), self.batch_words,
        )  # fmt: skip

    def _sentence(self, number: int, text: RawSentence, truncate: bool) -> _Sentence:
        text, most = text_of(number, text), self.positions - 1
        symbols = self.text.symbols(text)
        if len(symbols) > most and not truncate:
            raise InputError(
                f"line {number}: {len(symbols)} symbols (subwords, if words are segmented), more "
                f"than the {most} that the model reads; --truncate cuts the sentence"
            )
        indices = [index_of(self.source, symbol) for symbol in symbols[:most]]
        self.read += len(indices)
        self.unknown += indices.count(self.source.unk())
        return _Sentence(number, text, torch.tensor([*indices, self.source.eos()]))

    @in_evaluation
    def _translated(
        self, sentences: list[_Sentence], settings: SearchSettings
    ) -> list[Translation]:  # fmt: skip
        found: dict[int, Translation] = {}
        full = [one for one in sentences if len(one.tokens) > 1]
        if settings.max_len_a:  # otherwise the limit would be that of the longest of the batch
            full.sort(key=lambda one: len(one.tokens))
            batches = [list(own) for _, own in groupby(full, lambda one: len(one.tokens))]
        else:
            batches = [full] if full else []
        for batch in batches:
            for one, own in zip(batch, self._search(batch, settings), strict=True):
                alternatives = [self._translation(one, hypothesis) for hypothesis in own]
                best = alternatives[0]
                found[one.number] = Translation(
                    best.text, best.source, best.tokens, best.score, best.token_scores, alternatives
                )
        # A translation without words is falsy, and yet has a score and alternatives.
        return [
            found[one.number] if one.number in found else Translation("", one.text)
            for one in sentences
        ]

    def _search(self, batch: Sequence[_Sentence], settings: SearchSettings) -> list[list[dict]]:
        """fairseq's hypotheses of each sentence, the best first."""
        rows, device = [one.tokens for one in batch], next(self.model.parameters()).device
        pad, end = self.source.pad(), self.source.eos()
        tokens = collate_tokens(rows, pad, end, left_pad=self.left_pad).to(device)
        lengths = torch.tensor([len(row) for row in rows], device=device)
        net_input = {"src_tokens": tokens, "src_lengths": lengths}
        numbers = torch.tensor([one.number for one in batch], device=device)
        generator = self._generator(settings).to(device)
        found = generator.generate([self.model], {"net_input": net_input, "id": numbers})
        return [own[: settings.n_best] for own in found]

    def _generator(self, settings: SearchSettings) -> SequenceGenerator:
        search = None
        if settings.sample:
            search = SampledSearch(self.target, settings.seed, settings.top_k)
        return SequenceGenerator(
            [self.model], self.target, beam_size=settings.width, max_len_a=settings.max_len_a,
            max_len_b=settings.max_len_b, min_len=settings.min_len, len_penalty=settings.lenpen,
            temperature=settings.temperature, search_strategy=search,
        )  # fmt: skip

    def _translation(self, sentence: _Sentence, hypothesis: dict) -> Translation:
        numbers = hypothesis["tokens"].tolist()
        symbols = [self.target[number] for number in numbers if number != self.target.eos()]
        scores = hypothesis["positional_scores"].double() / math.log(2)
        score = float(hypothesis["score"]) / math.log(2)
        # Like fairseq, the text leaves out a begin of sentence within the sentence.
        text = self.text.text([one for one in symbols if one != self.target.bos_word])
        return Translation(text, sentence.text, symbols, score, scores.tolist())

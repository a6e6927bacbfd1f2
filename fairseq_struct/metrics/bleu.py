"""Corpus BLEU of detokenised translations, by sacrebleu and with its signature."""

from collections.abc import Sequence
from dataclasses import dataclass

import sacrebleu

from fairseq_struct.errors import InputError


@dataclass(frozen=True)
class Bleu:
    """A BLEU score, 0 to 100, and the sacrebleu signature that says how it was computed."""

    score: float
    signature: str


def corpus_bleu(translations: Sequence[str], references: Sequence[str]) -> Bleu:
    """BLEU of Papineni et al. (2002) over a corpus, cased, with sacrebleu's own tokenisation.

    Args:
        translations: detokenised sentences, one per reference.
        references: detokenised sentences.

    Raises:
        InputError: no sentences, or the numbers of translations and references differ.
    """
    if not references:
        raise InputError("BLEU needs at least one reference sentence")
    if len(translations) != len(references):
        raise InputError(
            f"{len(translations)} translations for {len(references)} references: "
            "BLEU needs one each"
        )
    metric = sacrebleu.BLEU()
    score = metric.corpus_score(list(translations), [list(references)]).score
    return Bleu(score, str(metric.get_signature()))

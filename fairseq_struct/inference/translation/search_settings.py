"""How translations are searched for, or drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import option_name

# Width of the beam, as in fairseq's own programs.
BEAM = 5


@dataclass(frozen=True)
class SearchSettings:
    """Options of :meth:`.Translator.translate`; names as of ``fairseq-generate``.

    Attributes:
        beam: hypotheses that a search keeps; 5 if not given.
        n_best: translations of each sentence.
        sample: draw translations from the model instead of a search.
        top_k: draw from the k most likely symbols; from all if not given.
        temperature: above 1: more varied samples, below 1: less varied.
        seed: of the samples. They depend on it and on the number of the sentence, from 1, not on
            batches.
        lenpen: score = sum of log p / length^lenpen; above 1 favours long translations.
        min_len: fewest symbols of a translation.
        max_len_a, max_len_b: most symbols of a translation: a * (symbols of the sentence, its end
            included) + b.
        truncate: cut sentences that are too long for the model instead of refusing them.

    Raises:
        InputError: a value is out of range, or does not fit the others.
    """

    beam: int | None = None
    n_best: int = 1
    sample: bool = False
    top_k: int | None = None
    temperature: float = 1.0
    seed: int = 1
    lenpen: float = 1.0
    min_len: int = 1
    max_len_a: float = 0.0
    max_len_b: int = 200
    truncate: bool = False

    def __post_init__(self):
        for name, kind, least in (
            ("beam", Integral, 1), ("n_best", Integral, 1), ("top_k", Integral, 1),
            ("seed", Integral, 0), ("min_len", Integral, 1), ("max_len_b", Integral, 0),
            ("max_len_a", Real, 0), ("lenpen", Real, None), ("temperature", Real, None),
        ):  # fmt: skip
            _check(name, getattr(self, name), kind, least)
        for name in ("sample", "truncate"):
            if type(getattr(self, name)).__name__ not in ("bool", "bool_"):  # numpy's, too
                raise InputError(
                    f"{option_name(name)} must be True or False, not {getattr(self, name)!r}"
                )
        if self.temperature <= 0:
            raise InputError(f"--temperature must be above 0, not {self.temperature}")
        for name in ("seed", "max_len_a", "max_len_b"):
            if getattr(self, name) >= 2**31:
                raise InputError(
                    f"{option_name(name)} must be less than 2^31, not {getattr(self, name)}"
                )
        for name, default in (("top_k", None), ("temperature", 1.0), ("seed", 1)):
            if not self.sample and getattr(self, name) != default:
                raise InputError(f"{option_name(name)} needs --sample")
        if self.sample and self.beam is not None:
            raise InputError("--beam is for a search, not for --sample; --n-best draws several")
        if self.width < self.n_best:
            raise InputError(
                f"--n-best {self.n_best} needs a --beam of at least {self.n_best}, not {self.width}"
            )

    @property
    def width(self) -> int:
        """Hypotheses of each sentence at a time."""
        if self.sample:
            return self.n_best
        return BEAM if self.beam is None else self.beam

    def check_lengths(self, positions: int):
        """Check that the shortest sentence, a symbol and its end, can have a translation.

        Args:
            positions: of the decoder.

        Raises:
            InputError: ``min_len`` is above the most symbols of its translation.
        """
        longest = min(int(2 * self.max_len_a + self.max_len_b), positions - 1)
        if longest < self.min_len:
            raise InputError(
                f"--min-len {self.min_len} is above the most symbols of a translation, {longest}"
            )


def _check(name: str, value, kind: type, least: int | None):
    if value is None and name in ("beam", "top_k"):
        return
    right = isinstance(value, kind) and not isinstance(value, bool)
    if not right or value != value or abs(value) == math.inf:
        number = "whole number" if kind is Integral else "number"
        raise InputError(f"{option_name(name)} must be a {number}, not {value!r}")
    if least is not None and value < least:
        raise InputError(f"{option_name(name)} must be {least} or more, not {value}")

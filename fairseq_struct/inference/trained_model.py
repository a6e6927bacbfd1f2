"""A trained model with everything that it can do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError
from fairseq_struct.inference.reading import RawSentence
from fairseq_struct.inference.registry import ABILITIES, Tool, methods_of
from fairseq_struct.inference.results.of_tools import classification_of, parse_of
from fairseq_struct.inference.results.sequence_of_results import Results


class TrainedModel:
    """A trained model: it parses, classifies, translates or scores, as it can.

    A sentence is a string whose words are separated by spaces, or a list, tuple or array of its
    words. Results have the words as they were given; a space within a word is ``_`` for the model.

    Further methods and attributes are those of its main tool, ``tool``: that of the first of these
    abilities.

    Args:
        checkpoint: where it was loaded from.
        model: the model.
        task: its task.
        tools: the tools that serve it, by ability.
        options: options of the tools; each gets its own.
    """

    def __init__(
        self, checkpoint: str | Path, model, task, tools: Mapping[str, Tool],
        options: Mapping[str, Any],
    ):  # fmt: skip
        self.checkpoint, self.model, self.task = checkpoint, model, task
        self._tools, self._options = dict(tools), dict(options)
        self._built: dict[str, Any] = {}
        self.tool = self._tool(next(iter(self._tools)))

    @property
    def kind(self) -> str:
        """What kind of model it is, in words."""
        return next(iter(self._tools.values())).kind

    @property
    def abilities(self) -> tuple[str, ...]:
        """What it can do: ``parse``, ``classify``, ``translate``, ``score`` and others."""
        treeless = getattr(self.tool, "tree_kind", "any") is None
        return tuple(one for one in self._tools if one != "parse" or not treeless)

    def parse(self, sentences: Iterable[RawSentence]) -> Results:
        """The trees of sentences, in order.

        Returns:
            A list of :class:`.DependencyParse` or :class:`.ConstituencyParse`.

        Raises:
            InputError: the model infers no trees, or a sentence is empty or too long.
        """
        return Results(map(parse_of, self._tool("parse").trees(sentences)))

    def classify(self, instances: Iterable[str | Sequence]) -> Results:
        """The labels of sentences or pairs, in order: see :meth:`.Classifier.analyse`.

        Returns:
            A list of :class:`.Classification`.

        Raises:
            InputError: the model is no classifier, or it cannot read an instance.
        """
        return Results(map(classification_of, self._tool("classify").analyse(instances)))

    def translate(self, sentences: Iterable[RawSentence], **settings) -> Results:
        """The translations of raw sentences, in order: see :meth:`.Translator.translate`.

        Args:
            sentences: raw text; words in a list are joined by spaces, and are raw text, too.
            settings: ``beam=5``, ``n_best=1``, and others of :class:`.SearchSettings`.

        Returns:
            A list of :class:`.Translation`.

        Raises:
            InputError: the model does not translate, a sentence is too long, or a setting is out of
                range.
        """
        return Results(self._tool("translate").translations(sentences, **settings))

    def score(self, sentences: Iterable[RawSentence]) -> Results:
        """log p of sentences, in nats: see :meth:`.LanguageModelScorer.score`.

        Returns:
            A list of :class:`.SentenceScore`.

        Raises:
            InputError: the model is no language model from left to right (masked ones define no
                probability of a sentence), or a sentence is empty.
        """
        return self._tool("score").score(sentences)

    def perplexity(self, sentences: Iterable[RawSentence]) -> float:
        """The perplexity per word of sentences: see :meth:`.LanguageModelScorer.perplexity`."""
        return self._tool("score").perplexity(sentences)

    def _tool(self, ability: str):
        """The tool with an ability, built on first use."""
        entry = self._tools.get(ability)
        if entry is None or (self._built and ability not in self.abilities):
            raise InputError(f"{self.checkpoint}: {self._cannot(ability)}")
        if entry.name not in self._built:
            names = {option.name for option in entry.options} | {"batch_words"}
            own = {name: value for name, value in self._options.items() if name in names}
            try:
                self._built[entry.name] = entry.build(self.model, self.task, **own)
            except InputError as error:
                if not self._built:  # ``load`` names the checkpoint
                    raise
                raise InputError(f"{self.checkpoint}: {error}") from None
        return self._built[entry.name]

    def _cannot(self, ability: str) -> str:
        return f"{type(self.model).__name__} {ABILITIES[ability]}; it can {self._methods}"

    @property
    def _methods(self) -> str:
        return ", ".join(methods_of(self.abilities))

    def __getattr__(self, name: str):
        # Only called for names that this class lacks; before __init__ ends there is no tool.
        if name.startswith("__") or "tool" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        try:
            return getattr(self.tool, name)
        except AttributeError:
            raise AttributeError(f"this model has no {name!r}; it can {self._methods}") from None

    def __reduce__(self):
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled; load it where it is needed, "
            f"from {self.checkpoint}"
        )

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.tool)})

    def __repr__(self) -> str:
        parameters = list(self.model.parameters())
        count = sum(one.numel() for one in parameters)
        device = parameters[0].device if parameters else "cpu"
        return (
            f"TrainedModel({str(self.checkpoint)!r}: {type(self.model).__name__}, one of the "
            f"{self.kind}; {count:,} parameters on {device}; can {self._methods})"
        )

"""Trained models in Python: ``fairseq_struct.load("checkpoint.pt").parse(["a sentence"])``.

Heavy modules are imported on first use; tools and their options are available immediately.
"""

from importlib import import_module

from fairseq_struct.inference import tools  # noqa: F401, which registers them
from fairseq_struct.inference.registry import Option, register_tool

_HOMES = {
    "Analysis": "analysis",
    "ArcChannels": "parsers.channels",
    "AttentionSteps": "undirected.sequence_completion",
    "Classification": "results.classification",
    "Classifier": "classifiers.classifier",
    "Completed": "undirected.sequence_completion",
    "CompositionSteps": "recurrent_mechanisms.steps",
    "Constituents": "parsers.constituency",
    "ConstituencyParse": "results.constituency_parse",
    "ConstituencyParser": "parsers.constituency",
    "DependencyParse": "results.dependency_parse",
    "DependencyParser": "parsers.dependency",
    "GrammarComposer": "recurrent_mechanisms.grammar_composer",
    "ImageLabels": "undirected.images",
    "ImageModel": "undirected.images",
    "LanguageModelScorer": "language_models.language_model",
    "LinesFrom": "text_lines",
    "MemoryClassifier": "classifiers.memory_classifier",
    "MemorySteps": "classifiers.memory_classifier",
    "Results": "results.sequence_of_results",
    "SentenceScore": "results.sentence_score",
    "SequenceCompleter": "undirected.sequence_completion",
    "TrainedModel": "trained_model",
    "Translation": "results.translation",
    "Translator": "translation.translator",
    "TreeParser": "undirected.parser",
    "UnitUse": "recurrent_mechanisms.steps",
    "average_checkpoints": "averaging",
    "checkpoints_of": "averaging",
    "export_model": "export.writing",
    "load": "loading",
    "load_language_model": "loading",
    "load_masked_model": "loading",
    "made_by": "restoring",
    "read_lines": "text_lines",
}
__all__ = ["Option", "register_tool", *_HOMES]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

"""The tools of this package; their implementation is imported when a tool is built."""

from __future__ import annotations

from fairseq_struct.errors import InputError
from fairseq_struct.inference.reading import LONGEST
from fairseq_struct.inference.registry import Option, register_tool

LONGEST_SENTENCE = Option(
    "longest", "refuse sentences of more than N words, for models without a limit (default: 2000; "
    "memory may grow with its square)", int, LONGEST, least=1, flag="--longest-sentence",
    metavar="N",
)  # fmt: skip
SLOTS = Option(
    "slots", "models with a memory: memory slots for this input; 0: as many as each sentence needs "
    "(default: as the model was trained to be tested)", int, least=0, metavar="N",
)  # fmt: skip
TEST_PASSES = Option(
    "test_passes", "undirected networks: passes of updates, or converge: until no number moves "
    "(default: as the model was trained to be tested)", metavar="K",
)  # fmt: skip
ROOTS = Option(
    "roots", "supervised parsers: modifiers of the root of a best tree (default: as the model was "
    "trained to be decoded)", choices=("single", "multiple"),
)  # fmt: skip
TRUNCATE = Option(
    "truncate", "classifiers: cut sentences that are too long for the model", bool, False
)
LAYER = Option("layer", "ON-LSTM: layer whose distances make the trees, from 1 (default: 2)", int)
SPLIT = Option(
    "split", "ON-LSTM: split at the largest distance into ((before) (word (after))), as in the "
    "ON-LSTM paper (default), or into ((before) (word and after))", choices=("word", "gap"),
)  # fmt: skip
MULTIPLE_ROOTS = Option(
    "multiple_roots", "masked language models: allow several modifiers of the root",
    bool, False,
)  # fmt: skip
BFLOAT16 = Option(
    "bfloat16", "masked language models: half the time on processors that have it, less exact "
    "scores", bool, False,
)  # fmt: skip
SEGMENTED = Option(
    "segmented", "translation models: read and write text that is segmented as in training, its "
    "symbols separated by spaces; for data prepared elsewhere, without a manifest", bool, False,
)  # fmt: skip
BEAM = Option(
    "beam", "composers: sequences of steps that are kept (default: 1, the best step each time)",
    int, 1, least=1, metavar="N",
)  # fmt: skip
TAGS = Option(
    "tags", "composers: none: raw text, whose words are tagged by models that predict categories; "
    "given: words are written word/TAG, and the trees have these tags (default: none)",
    default="none", choices=("none", "given"),
)  # fmt: skip


@register_tool(
    "classifier", kind="classifiers", abilities=("classify", "parse"),
    serves=lambda model: hasattr(model, "sides"), options=(TRUNCATE, LONGEST_SENTENCE),
)  # fmt: skip
def classifier(model, task, **options):
    """Tool of classifiers; a classifier has ``sides``, its number of sentences."""
    from fairseq_struct.inference.classifiers.classifier import Classifier

    return _classifier(Classifier, model, task, **options)


@register_tool(
    "memory_classifier", kind="classifiers with memory slots",
    abilities=("classify", "parse", "draw"),
    serves=lambda model: hasattr(model, "sides") and hasattr(model, "test_slots"),
    options=(SLOTS, TRUNCATE, LONGEST_SENTENCE),
)  # fmt: skip
def memory_classifier(model, task, **options):
    """Tool of classifiers with ``test_slots``, the slots of their memory while not training."""
    from fairseq_struct.inference.classifiers.memory_classifier import MemoryClassifier

    return _classifier(MemoryClassifier, model, task, **options)


def _classifier(tool, model, task, truncate: bool = False, **options):
    own = task.cfg.longest_sentence
    if truncate and not own:
        raise InputError("takes sentences of any length, so --truncate does not apply")
    if truncate and task.formulas:
        raise InputError("reads formulas (--gold-trees), which --truncate cannot cut")
    options["formulas"] = task.formulas
    return tool(model, task.words, task.labels, own, truncate, task.lower, **options)


@register_tool(
    "constituency_parser", kind="language models with syntactic distances", abilities=("parse",),
    serves=lambda model: getattr(model, "tree_layers", 0) > 0,
    options=(LAYER, SPLIT, LONGEST_SENTENCE),
)  # fmt: skip
def constituency_parser(model, task, **options):
    """Tool of language models with ``tree_layers``, the number of layers with ``distances``."""
    from fairseq_struct.inference.parsers.constituency import ConstituencyParser

    return ConstituencyParser(model, task.source_dictionary, **options)


@register_tool(
    "translation_parser", kind="translation models with a parser", abilities=("parse",),
    serves=lambda model: hasattr(getattr(model, "encoder", None), "arc_scores"),
    options=(LONGEST_SENTENCE,),
)  # fmt: skip
def translation_parser(model, task, **options):
    """Tool of translation models whose encoder has ``arc_scores``."""
    from fairseq_struct.inference.parsers.dependency import TranslationParser

    return TranslationParser(model.encoder, task.source_dictionary, **options)


@register_tool(
    "translator", kind="translation models", abilities=("translate",),
    serves=lambda model: all(hasattr(model, part) for part in (
        "encoder", "decoder", "max_decoder_positions")),
    options=(SEGMENTED,),
)  # fmt: skip
def translator(model, task, segmented: bool = False, **options):
    """Tool of fairseq's models with an encoder and a decoder (``max_decoder_positions``)."""
    from fairseq_struct.inference.translation.raw_text import RawText, SegmentedText
    from fairseq_struct.inference.translation.translator import Translator

    cfg = task.cfg
    text = SegmentedText() if segmented else RawText(cfg.data, cfg.source_lang, cfg.target_lang)
    return Translator(
        model, task.source_dictionary, task.target_dictionary, text, cfg.left_pad_source, **options
    )


@register_tool(
    "masked_parser", kind="masked language models", abilities=("parse",),
    serves=lambda model: getattr(model, "parses", False),
    options=(MULTIPLE_ROOTS, BFLOAT16, LONGEST_SENTENCE),
)  # fmt: skip
def masked_parser(model, task, multiple_roots: bool = False, **options):
    """Tool of masked language models with ``parses``: they infer trees."""
    from fairseq_struct.inference.parsers.masked import MaskedParser

    return MaskedParser(model, task.source_dictionary, not multiple_roots, **options)


@register_tool(
    "language_model_scorer", kind="language models", abilities=("score",),
    serves=lambda model: "future" in getattr(model, "supported_targets", ()),
)  # fmt: skip
def language_model_scorer(model, task, **options):
    """Tool of language models that predict the next word (fairseq's ``supported_targets``)."""
    from fairseq_struct.inference.language_models.language_model import LanguageModelScorer

    return LanguageModelScorer(model, task.source_dictionary, **options)


@register_tool(
    "arc_channels", kind="masked language models", abilities=("channels",),
    serves=lambda model: hasattr(model, "shares"), options=(LONGEST_SENTENCE,),
)  # fmt: skip
def arc_channels(model, task, **options):
    """Tool of masked language models with ``shares`` of their channels."""
    from fairseq_struct.inference.parsers.channels import ArcChannels

    return ArcChannels(model, task.source_dictionary, **options)


@register_tool(
    "image_model", kind="undirected networks of images", abilities=("images",),
    serves=lambda model: getattr(model, "classifies_images", False), options=(TEST_PASSES,),
)  # fmt: skip
def image_model(model, task, **options):
    """Tool of models with ``classifies_images``."""
    from fairseq_struct.inference.undirected.images import ImageModel

    return ImageModel(model, **options)


@register_tool(
    "sequence_completer", kind="networks that complete sequences", abilities=("complete", "draw"),
    serves=lambda model: getattr(model, "completes", False),
    options=(TEST_PASSES, LONGEST_SENTENCE),
)  # fmt: skip
def sequence_completer(model, task, **options):
    """Tool of models with ``completes``: they predict the hidden symbols of sequences."""
    from fairseq_struct.inference.undirected.sequence_completion import SequenceCompleter

    return SequenceCompleter(model, task.symbols, **options)


@register_tool(
    "tree_parser", kind="supervised dependency parsers", abilities=("parse",),
    serves=lambda model: hasattr(model, "read_words"),
    options=(ROOTS, TEST_PASSES, LONGEST_SENTENCE),
)  # fmt: skip
def tree_parser(model, task, **options):
    """Tool of parsers that ``read_words`` and find distributions over dependency trees."""
    from fairseq_struct.inference.undirected.parser import TreeParser

    return TreeParser(model, **options)


@register_tool(
    "grammar_composer", kind="composers", abilities=("parse", "draw"),
    serves=lambda model: getattr(model, "composes", False),
    options=(BEAM, TAGS, LONGEST_SENTENCE),
)  # fmt: skip
def grammar_composer(model, task, **options):
    """Tool of models with ``composes``: they build trees step by step."""
    from fairseq_struct.data.prepared.listed_part import read_list_settings
    from fairseq_struct.inference.recurrent_mechanisms.grammar_composer import GrammarComposer

    settings = read_list_settings(task.cfg.data)
    return GrammarComposer(
        model, task.source_dictionary, task.categories, task.lower, settings.options,
        settings.word_categories, **options,
    )  # fmt: skip


@register_tool(
    "option_player", kind="policies in Craft", abilities=("rollout",),
    serves=lambda model: hasattr(model, "acting"),
)  # fmt: skip
def option_player(model, task, **options):
    """Tool of models with policies for worlds (``acting``)."""
    from fairseq_struct.inference.option_controller.player import OptionPlayer

    return OptionPlayer(model, task, **options)

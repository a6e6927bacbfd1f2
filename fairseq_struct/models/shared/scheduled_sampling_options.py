"""Command-line options of the scheduled-sampling Transformer, and checks of combinations."""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "float | None"

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.dataclass.utils import gen_parser_from_dataclass

from fairseq_struct.errors import InputError, as_input
from fairseq_struct.modules.scheduled_sampling.embedding_mix import (
    DISCRETE_MIXES,
    MIXES,
    EmbeddingMix,
)
from fairseq_struct.modules.scheduled_sampling.schedules import SCHEDULES, Schedule, make_schedule

REPLACEMENTS = ("uniform", "confidence", "own_confidence")


@dataclass
class ScheduledSamplingConfig(FairseqDataclass):
    """Options of scheduled sampling."""

    mix: ChoiceEnum(MIXES) = field(
        default="top_k",
        metadata={"help": "how a model prediction becomes a decoder input (default: top_k)"},
    )
    mix_alpha: float = field(
        default=1.0,
        metadata={"help": "inverse temperature that multiplies the scores of the mix (default: 1)"},
    )
    mix_top_k: int = field(
        default=5, metadata={"help": "number of words mixed by --mix top_k (default: 5)"}
    )
    mix_scale_noise: bool = field(
        default=False,
        metadata={
            "help": "multiply the Gumbel noise by the inverse temperature, too: alpha (s + G); the "
            "default is alpha s + G, as in eq. 3.2 of Mihaylova's thesis"
        },
    )
    first_pass_gradient: bool = field(
        default=False,
        metadata={
            "help": "backpropagate through the model decisions of the earlier decoder passes"
        },
    )
    schedule: ChoiceEnum(SCHEDULES) = field(
        default="linear",
        metadata={"help": "decay of the probability of the gold token (default: linear)"},
    )
    schedule_k: Optional[float] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "k of the schedule: offset of linear (default: 1), base of exponential, shape "
            "of inverse_sigmoid, value of constant"
        },
    )
    schedule_c: Optional[float] = field(  # noqa: UP045
        default=None,
        metadata={"help": "slope of the linear schedule, probability lost per update"},
    )
    schedule_end_update: Optional[int] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "update at which the linear schedule reaches 0, instead of --schedule-c "
            "(default: --max-update; give it if you mean to resume with a larger --max-update)"
        },
    )
    schedule_floor: float = field(
        default=0.0, metadata={"help": "smallest probability of the gold token (default: 0)"}
    )
    schedule_warmup_updates: int = field(
        default=0,
        metadata={
            "help": "updates of pure teacher forcing before the schedule starts (default: 0)"
        },
    )
    decoder_passes: int = field(
        default=2,
        metadata={
            "help": "decoder passes per training step; more than 2: parallel scheduled sampling "
            "(default: 2)"
        },
    )
    replacement: ChoiceEnum(REPLACEMENTS) = field(
        default="uniform",
        metadata={
            "help": "how inputs to replace are chosen; uniform: by coins with the schedule's "
            "probability; after the warm-up, confidence: by the model's confidence in the word "
            "predicted from the input (Liu et al., 2021, with --criterion "
            "scheduled_sampling_cross_entropy); own_confidence: by its confidence in the input's "
            "word itself (default: uniform)"
        },
    )
    confidence_threshold: float = field(
        default=0.9,
        metadata={
            "help": "gold probability above which --replacement confidence and own_confidence "
            "replace a token (default: 0.9)"
        },
    )
    confidence_random_threshold: float = field(
        default=0.95,
        metadata={
            "help": "gold probability above which the replacement is a random token of the same "
            "sentence (default: 0.95; 1: never)"
        },
    )


def add_options(parser: ArgumentParser):
    """Add the options of scheduled sampling to ``parser``."""
    # No defaults here: the architecture functions set them.
    gen_parser_from_dataclass(parser, ScheduledSamplingConfig(), delete_default=True)


def schedule_from_options(args: Namespace) -> Schedule:
    """The teacher-forcing schedule that the options describe.

    Raises:
        InputError: the schedule's options contradict each other or are incomplete.
    """
    name, k, end_update = args.schedule, args.schedule_k, args.schedule_end_update
    if args.replacement != "uniform":
        # The thresholds decide; only the schedule's warm-up has an effect.
        if args.schedule_floor or any(x is not None for x in (k, args.schedule_c, end_update)):
            raise InputError(
                f"--replacement {args.replacement} uses only --schedule-warmup-updates of the "
                "schedule: drop the other schedule options, or use --replacement uniform"
            )
        name, k = "constant", 0.0
    elif name == "linear" and args.schedule_c is None and end_update is None:
        end_update = getattr(args, "max_update", 0)
        if not end_update:
            raise InputError(
                "--schedule linear needs its slope: give --schedule-c, --schedule-end-update or "
                "--max-update"
            )
    warmup = args.schedule_warmup_updates
    if name == "linear" and end_update is not None and end_update <= warmup:
        raise InputError(
            f"--schedule linear ends at update {end_update}, before --schedule-warmup-updates "
            f"{warmup} is over: give fewer, or a later --schedule-end-update (or --max-update)"
        )
    with as_input(f"--schedule {name}: "):
        return make_schedule(name, k, args.schedule_c, end_update, args.schedule_floor, warmup)


def check_options(args: Namespace, vocabulary: int):
    """Refuse options that cannot work together.

    Args:
        args: parsed options, completed by :func:`scheduled_sampling_architecture`.
        vocabulary: size of the target dictionary.

    Raises:
        InputError: a combination is impossible; the message names the option and what to change.
    """
    if args.adaptive_softmax_cutoff is not None:
        raise InputError(
            "--adaptive-softmax-cutoff gives no scores over the whole vocabulary, which the "
            "embedding mixes need: drop it, or use --arch transformer"
        )
    if args.adaptive_input:
        raise InputError(
            "--adaptive-input has no single embedding table to mix from: drop it, or use "
            "--arch transformer"
        )
    if args.mix == "top_k" and args.mix_top_k > vocabulary:
        raise InputError(
            f"--mix-top-k {args.mix_top_k} exceeds the target vocabulary of {vocabulary} entries"
        )
    if args.first_pass_gradient and args.mix in DISCRETE_MIXES:
        raise InputError(
            f"--first-pass-gradient has no effect with --mix {args.mix}, which chooses one token: "
            "drop it or choose another mix"
        )
    if args.mix_scale_noise and args.mix != "gumbel_softmax":
        raise InputError(f"--mix-scale-noise works only with --mix gumbel_softmax, not {args.mix}")
    if args.decoder_passes < 2:
        raise InputError(
            f"--decoder-passes must be 2 or more, not {args.decoder_passes}; for plain teacher "
            "forcing give --schedule constant --schedule-k 1"
        )
    if not 0 <= args.confidence_threshold <= args.confidence_random_threshold <= 1:
        raise InputError(
            "--confidence-threshold and --confidence-random-threshold must be probabilities in "
            f"that order, not {args.confidence_threshold} and {args.confidence_random_threshold}"
        )
    with as_input(f"--mix {args.mix}: "):
        EmbeddingMix(args.mix, args.mix_alpha, args.mix_top_k)
    schedule_from_options(args)


def check_first_pass(replacement: str, with_first_pass: bool):
    """Refuse training without the first pass's loss if the method needs that loss.

    Raises:
        InputError: ``--replacement confidence`` without the first pass's loss.
    """
    if replacement == "confidence" and not with_first_pass:
        raise InputError(
            "--replacement confidence also learns from the first decoder pass (Liu et al., 2021): "
            "give --criterion scheduled_sampling_cross_entropy, or --replacement own_confidence"
        )

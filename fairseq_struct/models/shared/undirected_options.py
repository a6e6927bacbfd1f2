"""Options of undirected networks: how many passes of updates they take."""

from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

from fairseq.dataclass import FairseqDataclass

from fairseq_struct.errors import InputError
from fairseq_struct.modules.undirected.passes import CONVERGE, Passes
from fairseq_struct.option_checks import require_above_zero, require_at_least, require_share

# Of Mihaylova's thesis: passes are drawn from 1 to 5 in training, and there are 3 at test.
MOST_DRAWN, TESTED = 5, 3


@dataclass
class UndirectedConfig(FairseqDataclass):
    """Options of all undirected networks."""

    passes: str = field(
        default="1",
        metadata={
            "help": f"K: passes of updates; or {CONVERGE}: short for --passes {MOST_DRAWN} "
            f"--random-passes --test-passes {CONVERGE}"
        },
    )
    random_passes: bool = field(
        default=False,
        metadata={"help": "draw the passes of each training batch from 1 to --passes"},
    )
    test_passes: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": f"passes while not training, or {CONVERGE}: each instance stops when no number "
            f"moves by more than --tolerance (default: as --passes; {TESTED} with --random-passes)"
        },
    )
    tolerance: float = field(
        default=1e-3, metadata={"help": f"largest move of a number that ends {CONVERGE}"}
    )
    most_passes: int = field(default=10, metadata={"help": f"most passes of {CONVERGE}"})
    dropout: float = field(
        default=0.0,
        metadata={"help": "dropout of hidden variables, with one mask for all passes of a batch"},
    )


def passes_of(cfg: UndirectedConfig) -> Passes:
    """The passes that the options describe.

    Raises:
        InputError: not a number of passes, or a number out of range.
    """
    passes, random, test = str(cfg.passes), cfg.random_passes, cfg.test_passes
    if passes == CONVERGE:
        if test is not None and test != CONVERGE:
            raise InputError(f"--passes {CONVERGE} and --test-passes {test} exclude each other")
        passes, random, test = str(MOST_DRAWN), True, CONVERGE
    training = _number("--passes", passes)
    if test is None:
        test = TESTED if random else training
    else:
        test = CONVERGE if test == CONVERGE else _number("--test-passes", test)
    require_above_zero(cfg, "tolerance")
    require_at_least(cfg, 1, "most_passes")
    require_share(cfg, "dropout")
    return Passes(training, random, test, cfg.tolerance, cfg.most_passes)


def _number(option: str, value: str) -> int:
    if not str(value).isdecimal() or int(value) < 1:
        raise InputError(f"{option} must be 1, 2, … or {CONVERGE}, not {value}")
    return int(value)

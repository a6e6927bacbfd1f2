"""Options out of range are refused with their name and value."""

import math
from types import SimpleNamespace

import pytest

from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import (
    option_name,
    require_above_zero,
    require_at_least,
    require_share,
)


def test_a_field_is_named_as_on_the_command_line():
    assert option_name("embed_dim") == "--embed-dim" and option_name("gamma") == "--gamma"


def test_numbers_in_range_are_allowed():
    cfg = SimpleNamespace(embed_dim=1, most_words=10**400, dropout=0.0, gae_decay=1 - 2**-53)
    require_at_least(cfg, 1, "embed_dim", "most_words")
    require_at_least(cfg, 0, "embed_dim", "dropout")
    require_share(cfg, "dropout", "gae_decay")
    require_above_zero(cfg, "embed_dim", "gae_decay")


@pytest.mark.parametrize(
    ("value", "least"), [(0, 1), (-1, 0), (0.5, 1), (math.nan, 0), (math.inf, 0), (-math.inf, 0)]
)
def test_a_number_that_is_too_small_or_not_finite_is_refused(value, least):
    cfg = SimpleNamespace(layers=2, embed_dim=value, hidden_size=-3)
    with pytest.raises(InputError, match=f"^--embed-dim must be {least} or more, not {value}$"):
        require_at_least(cfg, least, "layers", "embed_dim", "hidden_size")


@pytest.mark.parametrize("value", [-0.1, 1, 1.0, 7, math.nan, math.inf])
def test_a_share_is_below_one(value):
    cfg = SimpleNamespace(dropout=0.2, parser_dropout=value)
    wrong = f"^--parser-dropout must be 0 or more and below 1, not {value}$"
    with pytest.raises(InputError, match=wrong):
        require_share(cfg, "dropout", "parser_dropout")


@pytest.mark.parametrize("value", [0, 0.0, -1e-9, math.nan, -math.inf, math.inf])
def test_a_temperature_is_above_zero(value):
    cfg = SimpleNamespace(temperature=1e-9, own_temperature=value)
    with pytest.raises(InputError, match=f"^--own-temperature must be above 0, not {value}$"):
        require_above_zero(cfg, "temperature", "own_temperature")

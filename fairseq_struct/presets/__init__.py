"""Presets: for each system the whole training of its paper, and one for a CPU, as data.

A preset is a TOML file, ``SYSTEM/NAME.toml``. Its ``[options]`` are those of ``fairseq-train``,
without dashes: a flag is ``true``, and ``"{max-update}"`` stands for the value of that option.
``like`` names a preset of the same system whose entries hold unless they are given again;
``false`` takes an entry away.
"""

from fairseq_struct.presets.arguments import (
    arguments_of,
    command,
    options_in,
    training_arguments,
    value_of,
)
from fairseq_struct.presets.data_kinds import DataFolder, data_folder, is_data_folder
from fairseq_struct.presets.preset import Preset, names, preset

__all__ = [
    "DataFolder",
    "Preset",
    "arguments_of",
    "command",
    "data_folder",
    "is_data_folder",
    "names",
    "options_in",
    "preset",
    "training_arguments",
    "value_of",
]

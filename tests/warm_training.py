"""A ``fairseq-train`` that has imported all its modules, to fork trainings from.

Like a program at a shell, it has its own modules before those of the plugin.
"""

import gc
import importlib

import torch._dynamo  # noqa: F401, which optimizers import

importlib.import_module("fairseq_cli.train")

from warm_imports import warm_parser_of_options  # noqa: E402

from fairseq_struct import plugin  # noqa: E402

for name in plugin.registering_modules():
    importlib.import_module(name)
warm_parser_of_options()
gc.collect()
gc.freeze()

"""The command ``fairseq-struct <verb>``, with one thin module per verb over public functions.

A verb is a module with ``NAME``, ``HELP``, ``add_arguments(parser)`` and ``run(args) -> int``. Its
name is in ``main.VERBS``. Heavy packages are imported inside ``run``, so that ``--help`` is fast.
"""

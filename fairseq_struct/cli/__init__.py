"""The command ``fairseq-struct <verb>``; one thin file per verb over functions anybody can call.

A verb is a module with ``NAME``, ``HELP``, ``add_arguments(parser)`` and ``run(args) -> int``, and
its name stands in ``main.VERBS``. Heavy packages are imported inside ``run``, so that ``--help``
answers at once.
"""

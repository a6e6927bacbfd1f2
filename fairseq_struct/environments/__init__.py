"""Worlds to act in. Importing this package registers them with gymnasium, where that is installed.

::

    gymnasium.make("fairseq_struct.environments:fairseq_struct/Craft-v0", task="DCA")
"""

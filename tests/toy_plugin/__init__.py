"""An example folder for ``--user-dir``, as a user would write it: two files, and this one."""

from fairseq_struct import plugin

plugin.load()

from toy_plugin import models, tool  # noqa: E402, F401, which register what they hold

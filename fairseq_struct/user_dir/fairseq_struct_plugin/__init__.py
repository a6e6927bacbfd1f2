"""The user directory for fairseq: ``fairseq-train … --user-dir "$(fairseq-struct user-dir)"``."""

from fairseq_struct import errors, plugin

errors.report_plainly()
plugin.load()

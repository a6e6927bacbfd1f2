"""Names of the checkpoints that fairseq-train writes into its --save-dir."""

from __future__ import annotations

import re

LAST, BEST = "checkpoint_last.pt", "checkpoint_best.pt"  # LAST is the default of --restore-file
ANY = re.compile(r"checkpoint(\d+|_\d+_\d+|_best|_last|\.best_.+)\.pt")
# Those that are kept beside LAST and BEST; the last group determines their order.
KEPT = {
    "epochs": re.compile(r"checkpoint(\d+)\.pt"),
    "updates": re.compile(r"checkpoint_\d+_(\d+)\.pt"),
    "best": re.compile(r"checkpoint\.best_.*_(-?\d+\.?\d*)\.pt"),
}

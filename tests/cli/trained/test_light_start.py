"""The verbs for trained models look for their files before they import anything heavy."""

import subprocess
import sys
from pathlib import Path

from fairseq_struct.cli.main import VERBS

HEAVY = {"torch", "fairseq", "numpy", "nltk", "matplotlib"}
# What a verb takes beside its checkpoint.
HERE = Path(__file__)
BESIDE = {"channels": [str(HERE)], "syneval": [str(HERE.parent)], "rollout": ["AC"],
          "export": ["exported"]}
SCRIPT = f"""
import contextlib, io, sys
from fairseq_struct.cli.main import main

heavy = {HEAVY!r}
for verb, *beside in VERBS:
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = main([verb, "nowhere.pt", *beside])
    print(verb, status, said.getvalue().strip(), *sorted(heavy & set(sys.modules)), sep="|")
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(["--help"])
print("--help", 0, "", *sorted(heavy & set(sys.modules)), sep="|")
"""


def test_a_missing_checkpoint_is_said_at_once():
    names = [name.rpartition(".")[2] for name in VERBS if name.startswith("trained.")]
    script = SCRIPT.replace("VERBS", repr([[name, *BESIDE.get(name, [])] for name in names]))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    *verbs, help_ = done.stdout.splitlines()
    assert verbs == [f"{name}|2|error: nowhere.pt: no such file" for name in names]
    assert help_ == "--help|0|"

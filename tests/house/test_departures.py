"""The list of departures names files and options that exist."""

import re

from fairseq_commands import ROOT

TEXT = (ROOT / "docs" / "departures.md").read_text(encoding="utf-8")


def test_files_that_are_named_exist():
    paths = set(re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)+\.(?:py|sh))`", TEXT))
    assert len(paths) > 15
    above = ROOT, ROOT / "fairseq_struct"
    missing = [path for path in paths if not any((folder / path).is_file() for folder in above)]
    assert not missing


def test_options_that_are_named_exist():
    source = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "fairseq_struct").rglob("*.py")
    )
    of_the_verbs = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`--([a-z-]+)", TEXT))
    theirs = {"share-decoder-input-output-embed", "share-all-embeddings", "restore-file",
              "attention-dropout", "activation-dropout", "encoder-normalize-before",
              "decoder-normalize-before"}  # fmt: skip
    assert len(named) > 10
    for name in named - theirs:
        of_fairseq = f'"--{name}"' in source or f"\n    {name.replace('-', '_')}: " in source
        assert of_fairseq or f"| `--{name}" in of_the_verbs, name


def test_every_line_has_its_reason():
    rows = [line for line in TEXT.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(rows) > 40
    for row in rows:
        cells = row.strip("| ").split(" | ")
        assert len(cells) == 3 and all(cells), row

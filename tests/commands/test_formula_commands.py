"""ListOps by the real commands: prepare, train with gold trees, validate, classify."""

import json
import re
import shlex
import sys

from fairseq_commands import ROOT, run, start
from formula_models import write_formulas

from fairseq_struct.data.readers.formulas.listops import value_of


def said(*command):
    program = start(*command)
    return program.communicate()[0], program.returncode


def test_listops_is_prepared_trained_validated_and_classified(tmp_path):
    out, plugin = tmp_path / "listops", write_formulas(tmp_path)[0]
    script = [sys.executable, ROOT / "preprocess" / "listops.py", "generate", out]
    options = ["--instances=60", "--most-tokens=12", "--tokens", 20, 25, "--test-instances=8"]
    printed, status = said(*script, *options)
    assert status == 0 and "test_20_25: 8 expressions of up to 25 tokens" in printed
    common = ["--task=structured_classification", "--criterion=structured_classification",
              "--no-progress-bar", "--log-format=json", "--num-workers=0", f"--user-dir={plugin}",
              "--required-batch-size-multiple=1", "--batch-size=16"]  # fmt: skip
    for arch in ("toy_right", "toy_shape"):
        run("train", out / "data-bin", *common, f"--arch={arch}", "--sides=1", "--max-epoch=1",
            "--gold-trees=listops", "--optimizer=sgd", "--lr=0.01", "--no-epoch-checkpoints",
            f"--save-dir={tmp_path / arch}")  # fmt: skip
    path = f"--path={tmp_path}/toy_right/checkpoint_last.pt"
    options = ["--gold-trees=listops", "--valid-subset=test_20_25", path]
    log = run("validate", out / "data-bin", *common, *options)
    logged = json.loads(re.findall(r"\{.*\"test_20_25_f1\".*\}", log)[-1])
    assert 0 < float(logged["test_20_25_f1"]) < 100
    lines = (out / "text" / "test_20_25.sentence1").read_text().splitlines()
    assert len(lines) == 8 and all(20 <= len(line.split()) <= 25 for line in lines)
    labels = (out / "text" / "test_20_25.label").read_text().split()
    assert labels == [str(value_of(line.split())) for line in lines]
    (tmp_path / "text").write_text("[MAX 2 9 [MIN 4 7 ] 0 ]\n[SM 3 4 ]\n")
    (tmp_path / "bad").write_text("[SM 3 4 ]\n[SM 3 4\n")
    classify = ["python", "-m", "fairseq_struct.cli.main", "classify", "--quiet",
                f"--user-dir={plugin}", tmp_path / "toy_shape" / "checkpoint_last.pt"]  # fmt: skip
    words = shlex.join(map(str, classify))
    printed, status = said("bash", "-c", f"{words} < {shlex.quote(str(tmp_path / 'text'))}")
    assert status == 0
    labels = [line.split("\t")[0] for line in printed.splitlines()]
    assert len(labels) == 2 and set(labels) <= set("0123456789")
    printed, status = said("bash", "-c", f"{words} < {shlex.quote(str(tmp_path / 'bad'))}")
    assert status == 2
    assert "line 2: no formula of the kind listops: '[SM' (token 1) is the operator" in printed

"""``fairseq-struct doctor``: what it finds, what it reports as missing, the fix that it names."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import requirements_of_setup_cfg

from fairseq_struct import __version__, compat, plugin
from fairseq_struct.cli import doctor
from fairseq_struct.cli.main import VERBS, main
from fairseq_struct.errors import DependencyError

ROOT = Path(__file__).resolve().parents[2]


def by_name(checks: list[doctor.Check]) -> dict[str, doctor.Check]:
    assert len({check.name for check in checks}) == len(checks)
    return {check.name: check for check in checks}


def test_healthy_machine(monkeypatch, capsys):
    monkeypatch.delenv("DATA", raising=False)
    assert main(["doctor"]) == 0
    report = capsys.readouterr().out
    assert re.search(rf"^ok +fairseq-struct +{re.escape(__version__)}$", report, re.MULTILINE)
    assert "scheduled_sampling_transformer" in report
    assert report.endswith("training works here\n")


def test_json_is_one_object_on_standard_output():
    command = [sys.executable, "-m", "fairseq_struct.cli.main", "doctor", "--json"]
    environment = {key: value for key, value in os.environ.items() if key != "DATA"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert all(set(c) == {"name", "finding", "status", "remedy"} for c in report["checks"])
    assert {"python", "torch", "fairseq", "architectures"} <= {c["name"] for c in report["checks"]}


def test_compiling_has_no_checks_to_print(capsys):
    assert main(["doctor", "--json", "--compile", "no such use"]) == 2
    told = "error: --json prints checks, and --compile checks nothing; give one of them\n"
    assert capsys.readouterr() == ("", told)


def test_broken_fairseq_fails_with_its_install_line(monkeypatch, capsys):
    def prepare():
        raise DependencyError("fairseq is not installed", compat.INSTALL_LINE)

    monkeypatch.setattr(compat, "prepare", prepare)
    monkeypatch.delenv("DATA", raising=False)
    assert main(["doctor"]) == 1
    report = capsys.readouterr().out
    assert re.search(r"^fail +fairseq +fairseq is not installed$", report, re.MULTILINE)
    assert f"-> {compat.INSTALL_LINE}\n" in report
    assert report.endswith("training does not work here yet: fairseq\n")


def test_missing_package_fails_with_its_install_line(monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGES", ("numpy", "no-such-package-at-all"))
    check = by_name(doctor.examine())["no-such-package-at-all"]
    assert (check.status, check.remedy) == ("fail", "pip install no-such-package-at-all")


def test_broken_module_of_ours_fails(monkeypatch):
    def registered():
        raise RuntimeError("model family is broken")

    monkeypatch.setattr(plugin, "registered", registered)
    check = by_name(doctor.examine())["plugin"]
    assert (check.status, check.finding) == ("fail", "RuntimeError: model family is broken")


@pytest.mark.parametrize(("version", "status"), [((3, 10), "fail"), ((3, 14), "note")])
def test_unsuitable_python(monkeypatch, version, status):
    monkeypatch.setattr(doctor.sys, "version_info", (*version, 0))
    assert by_name(list(doctor._check_python()))["python"].status == status


def test_missing_compiler_is_a_note_only(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setattr(compat, "fairseq_requirement", lambda: "fairseq-fixed==0.12.3.1")
    check = by_name(list(doctor._check_compilers()))["C++ compiler"]
    assert (check.status, check.remedy) == ("note", "apt install g++")


def test_compiler_does_not_matter_where_fairseq_has_wheels(monkeypatch):
    monkeypatch.setattr(compat, "fairseq_requirement", lambda: "ve-fairseq==0.12.3")
    assert list(doctor._check_compilers()) == []


def test_build_of_fairseq_is_named(monkeypatch):
    found = compat.installed_fairseq()
    if not found:
        pytest.skip("fairseq comes from a checkout")
    assert len(found) == 1  # the tests run on either build of fairseq
    # make FAIRSEQ=… test sets it so; elsewhere FAIRSEQ is the path of a checkout.
    if (wanted := os.environ.get("FAIRSEQ")) in compat.FAIRSEQ_BUILDS:
        assert found == [compat.fairseq_requirement(wanted)]
    assert by_name(doctor.examine())["fairseq"] == doctor.Check("fairseq", found[0])
    monkeypatch.setattr(compat, "installed_fairseq", lambda: [])
    assert doctor._check_fairseq().finding == "imported from a checkout"


def test_two_builds_of_fairseq_are_to_be_mended(tmp_path, monkeypatch):
    for name, version in (("ve_fairseq", "0.12.3"), ("fairseq_fixed", "0.12.3.1")):
        metadata = tmp_path / f"{name}-{version}.dist-info"
        metadata.mkdir()
        name = name.replace("_", "-")
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    check = doctor._check_fairseq()
    assert "ve-fairseq==0.12.3 and fairseq-fixed==0.12.3.1" in check.finding
    assert (check.status, check.remedy) == ("note", compat.REINSTALL_LINE)


def test_full_disk_is_a_note(monkeypatch):
    monkeypatch.setattr(doctor, "ROOMY_DISK_GB", 1e9)
    assert doctor._check_disk().status == "note"


def test_corpora_found_and_missing(tmp_path):
    for name in ("multi30k", "kftt-data-1.0", "unknown"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.txt").touch()
    (tmp_path / "tanaka").mkdir()  # empty counts as missing

    checks = doctor.examine(tmp_path)

    assert by_name(checks)["data"].finding == f"{tmp_path}: multi30k, kftt_ja_en"
    missing = [check for check in checks if check.name.startswith("data: ")]
    assert [check.name for check in missing] == ["data: iwslt17_de_en", "data: tanaka_ja_en"]
    assert all(check.status == "note" for check in missing)
    assert missing[0].remedy.startswith(f"put it into {tmp_path}/de-en; fairseq-struct prepare")


def test_known_corpora_are_those_that_can_be_read():
    from fairseq_struct.data.readers.translation_corpora import LAYOUTS

    assert list(doctor.CORPORA) == list(LAYOUTS)


def test_environment_variable_tells_where_data_is(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DATA", str(tmp_path / "nowhere"))
    assert main(["doctor"]) == 2
    assert "error: " in capsys.readouterr().err
    monkeypatch.setenv("DATA", "")
    assert by_name(doctor.examine())["data"].status == "ok"


def test_packages_are_those_of_setup_cfg():
    required = {requirement.name for requirement in requirements_of_setup_cfg()}
    assert set(doctor.PACKAGES) | {"torch", *compat.FAIRSEQ_BUILDS} == required


def test_version(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out == f"fairseq-struct {__version__}\n"


def test_alone_it_lists_its_verbs(capsys):
    assert main([]) == 0
    printed = capsys.readouterr().out
    for name in VERBS:
        verb = importlib.import_module(f"fairseq_struct.cli.{name}")
        assert re.search(rf"^ +{verb.NAME}\s+\w", printed, re.MULTILINE)
    assert main(["prepare"]) == 0
    assert "NAME is one of" in capsys.readouterr().out

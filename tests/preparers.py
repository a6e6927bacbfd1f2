"""A small preparer, and what tests of preparers say about a folder and about a refusal."""

from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder


def contents(folder):
    """Return all files below a folder with their bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def check_fails(result, message):
    """The script printed one line of complaint and exited with status 2."""
    status, _, complaint = result
    assert status == 2
    assert complaint.startswith("error: ") and complaint.count("\n") == 1, complaint
    assert message in complaint


def prepare(out, number=1, **options):
    """The smallest preparation: one file, which holds the only option."""

    def fill(folder):
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text(str(number))
        return {"count": 1}

    return write_prepared_folder(out, {"options": {"number": number}}, fill, **options)

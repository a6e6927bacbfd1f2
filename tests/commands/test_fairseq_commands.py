"""The warm server runs each program as a new interpreter would, without traces of earlier ones."""

import inspect
import os
import re
import shlex
import signal
import socket
import sys

import fairseq_commands
import pytest
import torch
import warm_client
from fairseq.data import iterators
from fairseq_commands import ROOT, SMALL, USER_DIR, run, start, start_cold, write_data_bin

from fairseq_struct.compat import load_state

TELL = """
import os, random, resource, sys
print(__name__, __file__, sys.argv[1:], sys.path[0], os.getcwd(), sys.stdin.read())
print(os.environ["A_WORD"], "TERM_OF_NONE" in os.environ, oct(os.umask(0)))
print(resource.getrlimit(resource.RLIMIT_FSIZE)[0])
print("told", file=sys.stderr, flush=True)
import atexit
atexit.register(print, "the end")
raise SystemExit(int(sys.argv[1]))
"""


def output_of(process):
    return process.communicate()[0], process.returncode


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "told" / "tell.py"
    path.parent.mkdir()
    path.write_text(TELL)
    return path


@pytest.mark.parametrize("status", [0, 3])
def test_a_program_finds_the_same_world_warm_and_cold(script, status):
    quoted = shlex.quote(str(script))
    shell = f"cd /; umask 027; ulimit -f 9; echo in | python {quoted} {status} 'a  b' ''"
    warm, cold = (
        output_of(begin("bash", "-c", shell, A_WORD="käse")) for begin in (start, start_cold)
    )
    assert warm == cold
    assert f"__main__ {script} ['{status}', 'a  b', ''] {script.parent} / in" in warm[0]
    assert warm[0].endswith("the end\n") and warm[1] == status


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "import sys; print(sys.argv, __name__, repr(sys.path[0])); sys.exit('why')", "x"],
        ["-c", "raise ValueError('not good')"],
        ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"],
        # Programs that are started in the background ignore interrupts, unless they say otherwise.
        ["-c", "import atexit, os, signal; atexit.register(print, 'the end'); print('begun');"
         "signal.signal(signal.SIGINT, signal.default_int_handler);"
         "os.kill(os.getpid(), signal.SIGINT)"],
        ["-m", "json.tool", "--help"],
    ],
)
def test_python_is_python(arguments):
    warm, cold = (output_of(b(sys.executable, *arguments)) for b in (start, start_cold))
    # A traceback shows the caller above its last line.
    assert warm[0].splitlines()[-1:] == cold[0].splitlines()[-1:] and warm[1] == cold[1]


def test_what_one_program_does_is_not_seen_by_the_next():
    spoil = "import fairseq, logging, random; from fairseq_struct import plugin; plugin.load()"
    assert output_of(start("python", "-c", f"{spoil}; fairseq.spoilt = 1")) == ("", 0)
    look = (
        "import fairseq, logging, random, sys; from fairseq.models import ARCH_MODEL_REGISTRY as r;"
        "print(hasattr(fairseq, 'spoilt'), 'udgn' in r, logging.getLogger().handlers,"
        "'user_dir' in sys.modules, random.random())"
    )
    seen = [output_of(start("python", "-c", look))[0] for _ in range(2)]
    assert all(text.startswith("False False [] False ") for text in seen)
    assert seen[0] != seen[1]  # no program gets a fixed seed


def test_what_is_read_at_start_makes_a_real_process():
    say = "import sys; print('fairseq' in sys.modules, sys.flags.hash_randomization)"
    assert output_of(start("python", "-c", say))[0].startswith("True")
    # With a seed other than the tests' own, if they have one.
    seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    fixed = f"False {int(seed != '0')}\n"
    assert output_of(start("python", "-c", say, PYTHONHASHSEED=seed)) == (fixed, 0)
    assert output_of(start("python", "-B", "-c", say))[0].startswith("False")
    less = start("bash", "-c", f"unset PYTHONPATH; exec python -c {shlex.quote(say)}")
    assert output_of(less)[0].startswith("False")
    threads = "import torch; print(torch.get_num_threads())"
    assert output_of(start("python", "-c", threads, OMP_NUM_THREADS="2")) == ("2\n", 0)


def test_neither_recipes_nor_libraries_keep_programs_from_starting_warm(monkeypatch, tmp_path):
    (set_by_fairseq,) = set(re.findall(
        r'os.environ\["(PYTHONWARNINGS)"\] = "(.*?)"', inspect.getsource(iterators)
    ))  # fmt: skip
    fairseq_commands._socket()  # the server was started before
    monkeypatch.setenv(*set_by_fairseq)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))  # set by torch's compiler
    say = "import sys; print('fairseq' in sys.modules)"
    twice = os.pathsep.join(2 * [str(ROOT)])
    assert output_of(start("python", "-c", say, PYTHONPATH=twice)) == ("True\n", 0)


def test_fairseq_says_the_same_warm_and_cold():
    options = ["fairseq-train", "no_such_data", f"--user-dir={USER_DIR}", "--arch=udgn_tiny",
               "--task=structured_masked_lm",
               "--criterion=structured_masked_lm", "--batch-size=1"]  # fmt: skip
    warm, cold = (output_of(begin(*options)) for begin in (start, start_cold))
    last = [out.splitlines()[-1] for out, _ in (warm, cold)]
    assert last[0] == last[1] and last[0].startswith("error: no_such_data") and warm[1] == cold[1]
    # Without the time, and without messages that modules print when they are imported.
    logged = [re.findall(r"\| INFO \| (?!fairseq\.tasks).*", out) for out, _ in (warm, cold)]
    assert logged[0] == logged[1] != []


def test_signals_arrive():
    wait = "import signal, sys; print('waiting', flush=True); signal.pause()"
    for number, status in ((signal.SIGTERM, -15), (signal.SIGINT, -2)):
        process = start("python", "-c", wait)
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(number)
        output, code = output_of(process)
        assert code == status and ("KeyboardInterrupt" in output) == (number == signal.SIGINT)


def test_a_killed_command_takes_its_program_along():
    process = start(
        "python", "-c", "import os, signal; print(os.getpid(), flush=1); signal.pause()"
    )
    program = os.pidfd_open(int(process.stdout.readline()))
    process.kill()
    process.communicate()  # the program's end of the pipe is open until it ends
    os.close(program)
    assert process.returncode == -signal.SIGKILL


def test_the_server_outlives_whoever_asks_and_goes():
    """A client may leave before a request, in the middle of it, and before the answer."""
    server = fairseq_commands._socket()
    for said in (b"", (9).to_bytes(8, "big") + b"half"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(server)
            connection.sendall(said)
    with open(os.devnull) as nothing:
        command = [sys.executable, "-B"]  # needs a separate process
        for _ in range(9):
            warm_client.submit(server, command, os.environ, [nothing.fileno()] * 3).close()
    assert run("train", "--help").startswith("usage: fairseq-train")


def test_without_a_server_nothing_is_taken_for_the_end_of_a_program():
    ours, theirs = socket.socketpair()
    theirs.close()
    with pytest.raises(RuntimeError, match="the warm server has gone away"):
        warm_client.outcome(ours)


def test_folders_of_sockets_have_short_names(tmp_path):
    """Also when the path of the temporary folder is long."""
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    tests = str(ROOT / "tests")
    tell = f"import sys; sys.path.insert(0, {tests!r}); import conftest, tempfile;"
    tell += "print(tempfile.mkdtemp(prefix='warm'))"
    made, status = output_of(start_cold(sys.executable, "-c", tell, TMPDIR=str(deep)))
    assert status == 0, made
    os.rmdir(made.strip())
    assert len(made.strip()) < 80


def test_run_raises_what_ends_the_program(tmp_path):
    with pytest.raises(SystemExit, match="unrecognized arguments: --no-such-option"):
        run("train", ROOT, "--arch=transformer", "--no-such-option")
    with pytest.raises(FileNotFoundError, match="nothing.src"):
        run("preprocess", "--source-lang=src", "--target-lang=tgt", f"--destdir={tmp_path}/out",
            f"--trainpref={tmp_path}/nothing")  # fmt: skip


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    (folder / "text").write_text("a good film\tgood\nno film\tbad\n" * 4)
    files = [f"--{split}-file={folder}/text" for split in ("train", "valid", "test")]
    script = ROOT / "preprocess" / "labelled_text.py"
    assert output_of(start(sys.executable, script, "plain", folder / "out", *files))[1] == 0
    return folder / "out"


SYSTEMS = {
    "scheduled_sampling": [*SMALL, "--arch=scheduled_sampling_transformer", "--batch-size=8"],
    "latent_clusters": [
        "--task=latent_clusters", "--arch=latent_clusters", "--criterion=latent_clusters",
        "--dim=8", "--train-size=20", "--valid-size=5", "--test-size=5", "--batch-size=20",
    ],
    "latent_tree": [
        "--task=structured_classification", "--criterion=structured_classification",
        "--arch=latent_tree_classifier", "--embed-dim=8", "--hidden-size=8", "--batch-size=4",
    ],
    "on_lstm": [
        "--task=recurrent_language_modeling", "--criterion=recurrent_language_modeling",
        "--arch=on_lstm_lm", "--embed-dim=8", "--hidden-size=8", "--chunk-size=4",
        "--batch-size=4", "--tokens-per-sample=12",
    ],
    "udgn": [
        "--task=structured_masked_lm", "--criterion=structured_masked_lm", "--arch=udgn_tiny",
        "--batch-size=8",
    ],
}  # fmt: skip


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_system_trains_the_same_from_a_cold_start(system, request, tmp_path):
    """Each system's real command line: a cold start gives the same training as the warm server."""
    if system == "scheduled_sampling":
        data = [write_data_bin(tmp_path)]
    elif system == "latent_clusters":
        data = []
    else:
        name = "labelled" if system == "latent_tree" else "language_folder"
        data = [request.getfixturevalue(name) / "data-bin"]
    options = [*data, *SYSTEMS[system], f"--user-dir={USER_DIR}", "--optimizer=adam", "--lr=0.01",
               "--max-update=3", "--disable-validation", "--num-workers=0"]  # fmt: skip
    weights = []
    for begin in (start, start_cold):
        folder = tmp_path / begin.__name__
        output, status = output_of(begin("fairseq-train", *options, f"--save-dir={folder}"))
        assert status == 0, output
        state = load_state(folder / "checkpoint_last.pt")["model"]
        weights.append({name: value for name, value in state.items() if torch.is_tensor(value)})
    assert weights[0].keys() == weights[1].keys() != set()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])

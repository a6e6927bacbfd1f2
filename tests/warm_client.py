"""Stand-in for ``python`` and fairseq's commands, which the warm server then runs.

    python -I -S warm_client.py SOCKET PROGRAM ARGUMENT…

It sends its arguments, folder, environment, limits and the files of its standard streams to the
server, passes signals on, and exits with the status of the program. If the server cannot imitate a
program (see ``why_cold`` there), a real process replaces this one. The client imports only light
modules of the standard library, because it must start quickly.
"""

import array
import itertools
import marshal
import os
import resource
import signal
import socket
import sys

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
OF_TRAININGS = "_train"  # what follows the address of the first server in that of the second
USER_DIR = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "user_dir")
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


def submit(address, argv, environment, descriptors, **more):
    """Ask the server at ``address`` for a program.

    Args:
        address: the server's; programs that train with this checkout's plugin go to the second.
        argv: the program's path and its arguments.
        environment: its environment.
        descriptors: three files for its standard streams; a fourth one, if any, gets the pickled
            exception that ends it.
        more: further fields of the request.

    Returns:
        The connection, on which :func:`outcome` waits.
    """
    umask = os.umask(0)
    os.umask(umask)
    argv = [os.fspath(argument) for argument in argv]
    request = marshal.dumps({
        "argv": argv,
        "cwd": os.getcwd(),
        "environment": dict(environment),
        "umask": umask,
        "limits": [(which, resource.getrlimit(which)) for which in LIMITS],
        **more,
    })  # fmt: skip
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address + OF_TRAININGS if _trains(argv) else address)
    files = array.array("i", descriptors)
    connection.sendmsg(
        [len(request).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)]
    )
    connection.sendall(request)
    return connection


def _trains(argv):
    """Whether a program is ``fairseq-train`` with this checkout's plugin, by this path."""
    given = [word for argument in argv for word in argument.split("=", 1)]
    paths = [after for word, after in itertools.pairwise(given) if word == "--user-dir"]
    is_ours = bool(paths) and os.path.abspath(paths[-1]) == USER_DIR  # the last one counts
    return is_ours and os.path.basename(argv[0]) == "fairseq-train"


def outcome(connection):
    """The program's exit status, below zero for the signal that killed it; None: start it cold.

    Raises:
        RuntimeError: there is no server any more.
    """
    answer = b""
    while part := connection.recv(4096):
        answer += part
    if not answer:
        raise RuntimeError("the warm server has gone away")
    return marshal.loads(answer)


def main():
    address, *argv = sys.argv[1:]
    connection = submit(address, argv, os.environ, [0, 1, 2])
    for number in SIGNALS:
        signal.signal(number, lambda received, _: connection.send(bytes([received])))
    status = outcome(connection)
    if status is None or status < 0:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
    if status is None:
        os.execv(argv[0], argv)
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()

"""An adb that is a folder of this machine: a server's socket, and a program in front of `sh`."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CLIENT = """\
#!/bin/sh
echo "$*" | head -n 1 >>"$0.calls"
[ "$1" != version ] || { echo "Android Debug Bridge version 1.0.41"; exit; }
shift 4
case $1 in
  connect|disconnect) exit 0 ;;
esac
[ "$1" = -s ] || exit 9
shift 2
case $1 in
  shell) exec sh -c "$3" ;;
  push|pull) exec cp "$2" "$3" ;;
  reboot) echo 'error: closed' >&2; exit 1 ;;
esac
"""


def write_client(folder: Path, text: str = CLIENT) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / "adb"
    program.write_text(text)
    program.chmod(0o755)
    return program


@dataclass(slots=True)
class Server:
    """What listens. ``answers`` are given by question; ``raw`` goes out whatever was asked."""

    port: int = 0
    answers: dict[str, str] = field(
        default_factory=lambda: {"host:version": "0029", "host:devices": "A1\tdevice\n"}
    )
    raw: bytes | None = None
    asked: list[str] = field(default_factory=list)

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                size = int(connection.recv(4), 16)
                question = connection.recv(size).decode()
                self.asked.append(question)
                text = self.answers.get(question, "").encode()
                answer = b"OKAY%04x%s" % (len(text), text)
                connection.sendall(answer if self.raw is None else self.raw)


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server.port = listener.getsockname()[1]
        thread = threading.Thread(target=server.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)

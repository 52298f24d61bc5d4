"""An HTTP server that answers as a real API server was recorded to answer."""

import gzip
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from portal.kubernetes.client import Connection, connect

DATA = Path(__file__).parent / "data"


def exchanges(name: str) -> list[dict[str, Any]]:
    """The exchanges of a recording, in their order."""
    found: dict[str, Any] = json.loads(gzip.decompress((DATA / "exchanges.json.gz").read_bytes()))
    return list(found["files"][name])


def all_exchanges() -> list[dict[str, Any]]:
    """Everything that was recorded about the API, jobs included, in the order it was asked."""
    rest: dict[str, Any] = json.loads(
        gzip.decompress((DATA / "job-exchanges.json.gz").read_bytes())
    )
    known = {e["title"]: e for e in [*exchanges("api-exchanges"), *rest["exchanges"]]}
    return [known[title] for title in rest["order"]]


@dataclass
class Asked:
    """A request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any

    @property
    def content_type(self) -> str:
        """The kind of body."""
        return self.headers.get("Content-Type", "")


@dataclass
class Answer:
    """What to say next; `after` seconds of silence, and with `cut` only half of it."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0.0
    cut: bool = False


@dataclass
class Recorded:
    """A running server: give it answers, look at what was asked."""

    url: str
    answers: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def connection(self, folder: Path, **settings: Any) -> Connection:
        """A way to it, through a kubeconfig as everywhere."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config))
        return connect({"kubeconfig": str(path), **settings})


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Recorded]:
    """Run a server for a while, behind a certificate if one is given."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            parts = urlsplit(self.path)
            recorded.asked.append(
                Asked(
                    self.command,
                    parts.path,
                    dict(parse_qsl(parts.query)),
                    dict(self.headers.items()),
                    json.loads(raw) if raw else None,
                )
            )
            answer = recorded.answers.pop(0)
            time.sleep(answer.after)
            body = answer.body
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(data[: len(data) // 2] if answer.cut else data)
            self.close_connection = answer.cut

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "https" if tls else "http"
    recorded = Recorded(f"{scheme}://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield recorded
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

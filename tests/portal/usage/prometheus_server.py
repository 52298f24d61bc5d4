"""A Prometheus that answers what a test tells it, in the form the real one has."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs


@dataclass
class Answering:
    """Where it listens, what it answers, and what it was asked."""

    address: str = ""
    status: int = 200
    answer: bytes = b""
    asked: list[dict[str, list[str]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def says(self, *series: tuple[dict[str, str], list[tuple[int, str]]]) -> None:
        """Answer with these series: labels, and pairs of a second and a figure."""
        result = [
            {"metric": labels, "values": [[at, text] for at, text in values]}
            for labels, values in series
        ]
        data = {"resultType": "matrix", "result": result}
        self.status, self.answer = 200, json.dumps({"status": "success", "data": data}).encode()

    def refuses(self, status: int, answer: bytes) -> None:
        """Answer with this instead."""
        self.status, self.answer = status, answer


@contextmanager
def answering() -> Iterator[Answering]:
    """Run one on a loopback port of its own."""
    told = Answering()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            told.asked.append({"path": [self.path], **parse_qs(body)})
            told.headers.append(dict(self.headers))
            self.send_response(told.status)
            if told.status == 302:
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            self.wfile.write(told.answer)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    told.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

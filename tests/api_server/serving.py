"""The fake API server: a real HTTP server on loopback in front of a store and a script of faults."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from portal.kubernetes.client import Connection, connect
from tests.api_server import refusals, selectors, verbs
from tests.api_server.faults import Fault, Request, Script
from tests.api_server.places import KINDS, Target, target
from tests.api_server.store import Happened, Store

LONGEST_WATCH = 1800.0


@dataclass
class ApiServer:
    """A running fake: its objects, its faults, and the way to it."""

    store: Store = field(default_factory=Store)
    script: Script = field(default_factory=Script)
    bookmark_seconds: float = 0.5
    url: str = ""
    _snapshots: dict[str, list[bytes]] = field(default_factory=dict)
    _open: set[socket] = field(default_factory=set)
    _server: ThreadingHTTPServer | None = None
    _port: int = 0

    def start(self) -> None:
        """Serve, after a stop on the same port again."""
        server = _Server(("127.0.0.1", self._port), _Handler)
        server.fake = self
        self._server, self._port = server, int(server.server_address[1])
        self.url = f"http://127.0.0.1:{self._port}"
        serve = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serve.daemon = True
        serve.start()

    def stop(self) -> None:
        """End at once, as a power cut would; the objects stay, what happened is forgotten."""
        server, self._server = self._server, None
        if server is None:
            return
        server.shutdown()
        server.server_close()
        self.cut_all()
        self.store.compact()

    @property
    def is_up(self) -> bool:
        """Whether it serves."""
        return self._server is not None

    def cut_all(self) -> None:
        """Break every connection there is."""
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(SHUT_RDWR)

    def kubeconfig(self, folder: Path) -> Path:
        """A file that leads here."""
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }  # fmt: skip
        path = folder / "fake.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def connection(self, folder: Path, **settings: Any) -> Connection:
        """A way here."""
        return connect({"kubeconfig": str(self.kubeconfig(folder)), **settings})


@contextmanager
def serving(**settings: Any) -> Iterator[ApiServer]:
    """A fake for a while."""
    server = ApiServer(**settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A start after a stop takes the same port.
    allow_reuse_address = True
    request_queue_size = 64
    fake: ApiServer

    def handle_error(self, *_: object) -> None:
        """A client that went away is nobody's fault."""


class _Cut(Exception):
    """Break this connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.fake._open.add(self.connection)

    def finish(self) -> None:
        self.server.fake._open.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def answer(self) -> None:
        fake = self.server.fake
        parts = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(
            self.command, parts.path, dict(parse_qsl(parts.query)),
            json.loads(raw) if raw else None, self.headers.get("User-Agent", ""),
        )  # fmt: skip
        fault = fake.script.next(request)
        time.sleep(fault.after)
        try:
            self._serve(fake, request, fault)
        except (_Cut, OSError):
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(SHUT_RDWR)

    def _serve(self, fake: ApiServer, request: Request, fault: Fault) -> None:
        try:
            if fault.status:
                raise refusals.Refused(fault.status, "as scripted")
            if request.path in ("/apis", "/readyz"):
                self._send(200, _groups())
                return
            where = target(request.path)
            if where is None:
                self._send(404, b"404 page not found")
            elif request.watches:
                self._watch(fake, request, where, fault)
            elif request.method == "GET" and not where.name:
                self._send(200, _list(fake, request, where))
            else:
                status, body = verbs.do(
                    fake.store, request, where, self.headers.get("Content-Type", "")
                )
                if fault.lost:
                    raise _Cut
                self._send(status, json.dumps(body).encode())
        except refusals.Refused as refused:
            self._send(refused.code, json.dumps(refused.status()).encode(), fault.headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    # -- watching ------------------------------------------------------------------------------

    def _watch(self, fake: ApiServer, request: Request, where: Target, fault: Fault) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        seconds = float(request.query.get("timeoutSeconds", LONGEST_WATCH))
        for count, line in enumerate(_lines(fake, request, where, seconds, fault)):
            if fault.cut is not None and count >= fault.cut:
                self._chunk(line[: len(line) // 2])
                raise _Cut
            for _ in range(2 if fault.doubled else 1):
                self._chunk(line)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _chunk(self, line: bytes) -> None:
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def _lines(
    fake: ApiServer, request: Request, where: Target, seconds: float, fault: Fault
) -> Iterator[bytes]:
    """Lines of a watch until its time is over, the server stops, or nobody knows what happened."""
    store, begun = fake.store, time.monotonic()
    told = begun
    version = int(request.query.get("resourceVersion") or 0) or store.version
    fits = selectors.of(where, request.query.get("fieldSelector", ""))
    while time.monotonic() - begun < seconds and fake.is_up:
        try:
            happened = store.since(version)
        except refusals.Refused as refused:
            yield _line("ERROR", json.dumps(refused.status()).encode())
            return
        found = [one for one in happened if fits(one.kind, one.namespace, one.item)]
        yield from (_line(one.type, one.text) for one in _in_order(found, fault))
        version = happened[-1].version if happened else version
        # From a version that is still to come nothing is told until it has.
        due = time.monotonic() - told >= fake.bookmark_seconds and version <= store.version
        if due and _wants_bookmarks(request):
            told = time.monotonic()
            yield _line("BOOKMARK", _bookmark(where, max(version, store.oldest)))
        with store.changed:
            if store.version <= version or not happened:
                store.changed.wait(0.05 if fake.bookmark_seconds < 1 else 0.2)


def _in_order(found: list[Happened], fault: Fault) -> list[Happened]:
    return found[::-1] if fault.late else found


def _wants_bookmarks(request: Request) -> bool:
    return request.query.get("allowWatchBookmarks") in ("1", "true")


def _bookmark(where: Target, version: int) -> bytes:
    metadata = {"resourceVersion": str(version), "creationTimestamp": None}
    item = {"kind": where.kind, "apiVersion": where.place.version, "metadata": metadata}
    return json.dumps(item).encode()


def _line(kind: str, item: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + item + b"}\n"


# -- listing -----------------------------------------------------------------------------------


def _list(fake: ApiServer, request: Request, where: Target) -> bytes:
    """A list, or the next page of one, all of the version its first page was of."""
    limit = int(request.query.get("limit") or 0)
    token = request.query.get("continue", "")
    if token:
        told = json.loads(base64.b64decode(token))
        version, start = int(told["v"]), int(told["start"])
        texts = fake._snapshots.get(told["key"])
        if texts is None or version < fake.store.oldest:
            raise refusals.expired(version, fake.store.oldest)
    else:
        fits = selectors.of(where, request.query.get("fieldSelector", ""))
        with fake.store.changed:
            version, start = fake.store.version, 0
            kept = fake.store.kept(where.kind, where.namespace)
        texts = [one.text for one in kept if fits(where.kind, "", one.item)]
    return _page(fake, where, texts, version, start, limit)


def _page(
    fake: ApiServer, where: Target, texts: list[bytes], version: int, start: int, limit: int
) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    end = start + limit if limit else len(texts)
    key = f"{where.kind} {where.namespace} {version}"
    if end < len(texts):
        fake._snapshots[key] = texts
        token = json.dumps({"v": version, "start": end, "key": key}).encode()
        metadata["continue"] = base64.b64encode(token).decode()
        metadata["remainingItemCount"] = len(texts) - end
    else:
        fake._snapshots.pop(key, None)
    head = {"kind": f"{where.kind}List", "apiVersion": where.place.version, "metadata": metadata}
    items = b",".join(texts[start:end])
    return json.dumps(head).encode()[:-1] + b',"items":[' + items + b"]}"


def _groups() -> bytes:
    versions = sorted({version for version, _ in KINDS if "/" in version})
    groups = [{"name": v.partition("/")[0], "versions": [{"groupVersion": v}]} for v in versions]
    return json.dumps({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}).encode()

"""Speaks to the portal: one call at a time, each told as an answer or as a fault.

A write carries an Idempotency-Key, the same at every attempt, so that one whose answer was lost is
not made twice. A portal that is busy says for how long (429, 503 with Retry-After), and that is how
long we wait, within reason. A redirect is not followed: the token goes where it was meant for.
"""

import http.client
import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from portal.cli import words
from portal.cli.faults import Fault, Misused, NotReached, Refused
from portal.cli.keeping import Account
from portal.cli.words import gettext as _

SECONDS = 30
TRIES = 3
MOST_SECONDS = 60
MOST_BYTES = 64 * 1024 * 1024
BUSY = (429, 503)
AT_FAULT = 500
PAGE = 200

Answer = dict[str, Any]


class _NoRedirect(HTTPRedirectHandler):
    """Hands a redirect back instead of following it."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """None: the answer itself is what is told."""


def _opener(address: str) -> OpenerDirector:
    """Return what opens addresses: by the proxy the terminal names, save for plain ones."""
    handlers = [ProxyHandler({})] if address.startswith("http://") else []
    return build_opener(_NoRedirect(), *handlers)


@dataclass(frozen=True)
class Portal:
    """A portal one has an account at."""

    account: Account
    sleep: Callable[[float], None] = time.sleep
    open: Any = field(default=None, repr=False)

    def get(self, path: str, **query: object) -> Answer:
        """Read. Raises `Refused`, `NotReached`."""
        chosen = {name: value for name, value in query.items() if value not in (None, "")}
        return self._call("GET", f"{path}?{urlencode(chosen)}" if chosen else path)

    def write(self, path: str, body: Mapping[str, object] | None = None) -> Answer:
        """Change something, once. Raises `Refused`, `NotReached`."""
        key = {"Idempotency-Key": str(uuid.uuid4())}
        return self._call("POST", path, json.dumps(dict(body or {})).encode(), key)

    def ask(self, path: str, body: Mapping[str, object]) -> Answer:
        """Ask by a body what changes nothing. Raises `Refused`, `NotReached`."""
        return self._call("POST", path, json.dumps(dict(body)).encode())

    def rows(self, path: str, *, most: int, **query: object) -> Answer:
        """Read a list over its pages until there are so many rows."""
        found: list[Any] = []
        answer: Answer = {"count": 0, "next": "first"}
        page = 0
        while answer.get("next") and len(found) < most:
            page += 1
            answer = self.get(path, **query, page=page, page_size=min(most, PAGE))
            found += answer["results"]
        return {"count": answer["count"], "results": found[:most]}

    def _call(
        self, method: str, path: str, body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:  # fmt: skip
        request = Request(  # noqa: S310  # the address was checked to be http or https
            f"{self.account.address}/api/v1/{path}", data=body, method=method,
            headers={
                "Accept": "application/json", "Accept-Language": words.language(),
                "Authorization": f"Bearer {self.account.token}", "User-Agent": "evenshare",
                **({"Content-Type": "application/json"} if body is not None else {}),
                **(headers or {}),
            },
        )  # fmt: skip
        status, told, pause = self._once(request)
        waited = 0.0
        for _again in range(TRIES - 1):
            if pause is None or waited + pause > MOST_SECONDS:
                break
            self.sleep(pause)
            waited += pause
            status, told, pause = self._once(request)
        return self._read(status, told, path)

    def _once(self, request: Request) -> tuple[int, "Told", float | None]:
        """Return status, answer and how long to wait before another try; None: do not try again."""
        opener = self.open or _opener(self.account.address)
        try:
            with opener.open(request, timeout=SECONDS) as answer:
                return answer.status, Told(dict(answer.headers), answer.read(MOST_BYTES)), None
        except HTTPError as error:
            with error:
                told = Told(dict(error.headers), error.read(MOST_BYTES))
            return error.code, told, told.pause if error.code in BUSY else None
        except (URLError, OSError, http.client.HTTPException) as error:
            return 0, Told({}, b"", self._without_token(str(getattr(error, "reason", error)))), 1.0

    def _read(self, status: int, told: "Told", path: str) -> Answer:
        if status == 0:
            raise NotReached(
                _("%(address)s does not answer: %(why)s")
                % {"address": self.account.address, "why": told.why},
                hint=_("Check the address and your network."),
            )
        body = told.json()
        if 200 <= status < 300 and body is not None:
            return body
        if body is None or "title" not in body:
            raise self._strange(status, told)
        raise self._problem(status, body, told)

    def _strange(self, status: int, told: "Told") -> Fault:
        where = {"address": self.account.address, "status": status}
        if 300 <= status < 400:
            to = self._without_token(told.headers.get("Location", ""))[:200]
            return NotReached(
                _("%(address)s sends you elsewhere: %(to)s") % {**where, "to": to},
                hint=_("If you trust that address, sign in there: evenshare login"),
            )
        if status >= AT_FAULT:
            return NotReached(
                _("%(address)s fails (%(status)s).") % where,
                hint=_("Try again later. Tell its operators: request %(id)s.")
                % {"id": told.headers.get("X-Request-Id", "-")},
            )
        return NotReached(
            _("What answers at %(address)s is not Evenshare (%(status)s).") % where,
            hint=_("Check the address: evenshare login"),
        )

    def _problem(self, status: int, body: Answer, told: "Told") -> Fault:
        """Give what the portal refused as a sentence, with what to do."""
        title = self._without_token(str(body["title"]))
        lines = [title, *_of_fields(body.get("fields"), title)]
        kind = NotReached if status >= AT_FAULT else Refused
        return kind("\n".join(lines), hint=self._hint(status, body, told), problem=body)

    def _hint(self, status: int, body: Answer, told: "Told") -> str:
        tokens = f"{self.account.address}/account/tokens/"
        if status == 401:
            return _("Make a token at %(page)s and run: evenshare login") % {"page": tokens}
        if body.get("code") == "scope_missing":
            return _("Make a token that may do this at %(page)s") % {"page": tokens}
        if status == 404:
            return _("It does not exist, or it is not for you.")
        if status == 412:
            return _("Look at it again, then decide.")
        if status in BUSY:
            return _("Try again in %(seconds)d seconds.") % {"seconds": told.pause or 1}
        return ""

    def _without_token(self, text: str) -> str:
        return text.replace(self.account.token, "***")


@dataclass(frozen=True, slots=True)
class Told:
    """What came back: headers and body, or why nothing did."""

    headers: Mapping[str, str]
    body: bytes
    why: str = ""

    @property
    def pause(self) -> float:
        """How many seconds the portal wants to be left alone."""
        text = next((v for k, v in self.headers.items() if k.lower() == "retry-after"), "")
        return float(text) if text.isascii() and text.isdigit() else 1.0

    def json(self) -> Answer | None:
        """Return the object that came back, or None where it was none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None


def _of_fields(fields: object, title: str) -> list[str]:
    """What is wrong with each input, unless the sentence above says it already."""
    if not isinstance(fields, dict):
        return []
    said = {name: " ".join(map(str, v)) if isinstance(v, list) else str(v)
            for name, v in fields.items()}  # fmt: skip
    return [f"  {name}: {text}" if name else f"  {text}"
            for name, text in said.items() if text != title]  # fmt: skip


def number(text: str) -> int:
    """Read the number of a thing, with or without the letter it is shown under."""
    digits = text.rpartition("-")[2].lstrip("#")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise Misused(_("%(text)s is not a number.") % {"text": text})
    return int(digits)

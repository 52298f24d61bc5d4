"""The way to a real API server. Nothing else in the portal imports the Kubernetes library.

The library finds the server and signs in (kubeconfig, tokens, certificates, credential plug-ins);
requests go out and answers come in as plain JSON, since its typed models cost eight times the
time of a large list and refuse what they do not know. Its transport would sleep through a
`Retry-After` and try again by itself, up to three times and inside our call; it is told not to,
because whoever calls decides when to come back.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import urllib3
import yaml
from django.utils.translation import gettext as _
from kubernetes import config as library
from kubernetes.client import ApiClient, ApiException, Configuration

from portal.kubernetes import answers
from portal.kubernetes.port import Unreachable

Query = Sequence[tuple[str, str]]

CONNECT_SECONDS, READ_SECONDS = 5, 30
MOST_CONNECTIONS = 32
"""Kept open at once: a watcher holds one a kind."""
BROKEN = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""What the library raises, beside its own, for a file that is no kubeconfig."""
_config: Any = library  # its functions carry no types


class Connection:
    """One signed-in way to an API server; every call has its time."""

    def __init__(self, api: Any, *, read_seconds: float = READ_SECONDS) -> None:
        self._api = api
        self._read_seconds = read_seconds

    def ask(
        self,
        method: str,
        path: str,
        query: Query = (),
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """Send a request and return the answer's object. Raises `ClusterError`."""
        with _translated():
            answer = self._send(method, path, query, body, content_type)
            data: bytes = answer.data
        if not 200 <= answer.status < 300:
            raise answers.error(answer.status, answer.headers, data)
        try:
            found = json.loads(data)
        except ValueError as error:
            raise Unreachable(_("What answers there is no Kubernetes API server.")) from error
        return dict(found)

    def lines(self, path: str, query: Query) -> Iterator[bytes]:
        """Send a request whose answer comes line by line. Raises `ClusterError`."""
        with _translated():
            answer = self._send("GET", path, query, None, "application/json")
            if answer.status != 200:
                raise answers.error(answer.status, answer.headers, answer.data)
            try:
                yield from answer
            finally:
                answer.release_conn()

    def stream(self, path: str, query: Query, *, silent_seconds: float) -> "Stream":
        """Open an answer that goes on; more silence than said is a failure. Raises `ClusterError`."""
        with _translated():
            answer = self._send("GET", path, query, None, "application/json", silent_seconds)
            if answer.status != 200:
                raise answers.error(answer.status, answer.headers, answer.data)
        return Stream(answer)

    def _send(
        self,
        method: str,
        path: str,
        query: Query,
        body: Mapping[str, Any] | None,
        content_type: str,
        read_seconds: float = 0.0,
    ) -> Any:
        headers = {"Accept": "application/json", "Content-Type": content_type}
        request = self._api.param_serialize(
            method, path, query_params=list(query), header_params=headers, body=body,
            auth_settings=["BearerToken"],
        )  # fmt: skip
        timeout = (CONNECT_SECONDS, read_seconds or self._read_seconds)
        return self._api.call_api(*request, _request_timeout=timeout).response


class Stream:
    """An answer that comes line by line and goes on; another thread may end it."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        with _translated():
            try:
                yield from self._answer
            finally:
                self._answer.close()

    def end(self) -> None:
        """Let whoever reads find the end now."""
        with suppress(OSError, ValueError, RuntimeError):
            self._answer.shutdown()


@contextmanager
def _translated() -> Iterator[None]:
    """The transport's own failures as the port's."""
    try:
        yield
    except urllib3.exceptions.NewConnectionError as error:
        raise Unreachable(
            _("The cluster cannot be reached: %(reason)s") % {"reason": error}
        ) from error
    except urllib3.exceptions.TimeoutError as error:
        raise Unreachable(_("The cluster did not answer in time.")) from error
    except ApiException as error:
        # The library wraps failures of TLS this way.
        raise Unreachable(
            _("The cluster's certificate is not accepted: %(reason)s") % {"reason": error.reason}
        ) from error
    except (urllib3.exceptions.HTTPError, OSError, library.ConfigException) as error:
        raise Unreachable(
            _("The cluster cannot be reached: %(reason)s") % {"reason": error}
        ) from error


def connect(settings: Mapping[str, Any]) -> Connection:
    """The way to a cluster as its row describes it. Raises `Unreachable`.

    `kubeconfig` is the path of a file, `kubeconfig_env` the name of a variable that holds such a
    path, `context` one of its contexts; `in_cluster` takes the account of the pod we run in. The
    variable's name stands in the row, so it is read here and not in the portal's settings.
    """
    configuration = type.__call__(Configuration)
    configuration.retries = False
    configuration.connection_pool_maxsize = MOST_CONNECTIONS
    try:
        if settings.get("in_cluster"):
            _config.load_incluster_config(client_configuration=configuration)
            api = ApiClient(configuration)
        else:
            api = _config.new_client_from_config(
                str(kubeconfig(settings)), settings.get("context") or None,
                persist_config=False, client_configuration=configuration,
            )  # fmt: skip
    except (TypeError, AttributeError) as error:
        raise Unreachable(
            _("The file that should lead to the cluster is no kubeconfig.")
        ) from error
    except (*BROKEN, library.ConfigException, yaml.YAMLError) as error:
        raise Unreachable(
            _("The way to the cluster cannot be read: %(reason)s") % {"reason": error}
        ) from error
    api.user_agent = "evenshare"
    return Connection(api, read_seconds=float(settings.get("read_seconds", READ_SECONDS)))


def kubeconfig(settings: Mapping[str, Any]) -> Path:
    """The kubeconfig a row names. Raises `Unreachable` where it names none that is there."""
    variable = str(settings.get("kubeconfig_env", ""))
    named = os.environ.get(variable, "") if variable else str(settings.get("kubeconfig", ""))
    if not named:
        what = _("The variable %(name)s is not set.") % {"name": variable} if variable else ""
        raise Unreachable(what or _("The cluster's row names no kubeconfig."))
    path = Path(named).expanduser()
    if not path.is_file():
        raise Unreachable(_("There is no kubeconfig at %(path)s.") % {"path": path})
    return path

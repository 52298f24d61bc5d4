"""An OpenID provider on loopback: discovery, authorisation with PKCE, tokens, keys, user info."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "evenshare", "a secret between two servers"


class Provider:
    """Who signs in there is set by the test; everything else is as the standard has it."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {}
        self.denies = False
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._codes: dict[str, dict[str, str]] = {}
        self._tokens: set[str] = set()
        self.url = ""

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
        }

    def authorize(self, asked: dict[str, str]) -> str:
        """Return where the browser is sent back to."""
        assert asked["client_id"] == CLIENT
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256", "a code alone opens nothing"
        answer = {"state": asked["state"]}
        if self.denies:
            answer["error"] = "access_denied"
        else:
            answer["code"] = secrets.token_urlsafe()
            self._codes[answer["code"]] = asked
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def token(self, asked: dict[str, str]) -> dict[str, Any] | None:
        first = self._codes.pop(asked.get("code", ""), None)
        known = (asked.get("client_id"), asked.get("client_secret")) == (CLIENT, SECRET)
        if first is None or not known or first["redirect_uri"] != asked["redirect_uri"]:
            return None
        digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != first["code_challenge"]:
            return None
        token = secrets.token_urlsafe()
        self._tokens.add(token)
        claims = {
            "iss": self.url, "aud": CLIENT, "sub": self.person["sub"],
            "iat": int(time.time()), "exp": int(time.time()) + 300,
        }  # fmt: skip
        if "nonce" in first:
            claims["nonce"] = first["nonce"]
        signed = jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": "one"})
        return {"access_token": token, "token_type": "Bearer", "id_token": signed}

    def userinfo(self, token: str) -> dict[str, Any] | None:
        return self.person if token in self._tokens else None

    def keys(self) -> dict[str, Any]:
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
        return {"keys": [{**key, "kid": "one", "use": "sig", "alg": "RS256"}]}


class Handler(BaseHTTPRequestHandler):
    """The provider as HTTP."""

    provider: Provider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
        match parts.path:
            case "/.well-known/openid-configuration":
                self._json(self.provider.discovery())
            case "/keys":
                self._json(self.provider.keys())
            case "/authorize":
                self.send_response(302)
                self.send_header("Location", self.provider.authorize(asked))
                self.end_headers()
            case "/userinfo":
                token = self.headers.get("Authorization", "").removeprefix("Bearer ")
                self._json(self.provider.userinfo(token))
            case _:
                self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = {key: values[0] for key, values in parse_qs(body).items()}
        self._json(self.provider.token(asked))

    def _json(self, answer: dict[str, Any] | None) -> None:
        self.send_response(200 if answer is not None else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer or {"error": "invalid_grant"}).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def running() -> Iterator[Provider]:
    """Serve a provider until the test is over."""
    provider = Provider()
    bound = type("Bound", (Handler,), {"provider": provider})
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

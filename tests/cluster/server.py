"""A real Kubernetes control plane for tests: etcd, API server, scheduler, controllers, on loopback.

`KUBEBUILDER_ASSETS` names a folder with `etcd` and `kube-apiserver` (the envtest convention) and,
where pods are to be placed and jobs to be driven, `kube-scheduler` and `kube-controller-manager`.
One token belongs to a cluster admin; all others sign in as service accounts, as in production.
No kubelet runs: nodes are objects, and `kubelet.py` moves pods on by patching their status.
"""

import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

PATIENCE_SECONDS = 60


def assets() -> Path | None:
    """The folder with the binaries, if there is one."""
    named = os.environ.get("KUBEBUILDER_ASSETS", "")
    folder = Path(named) if named else None
    if folder and all((folder / name).exists() for name in ("etcd", "kube-apiserver")):
        return folder
    return None


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """The running control plane and how to reach it as somebody."""

    home: Path
    binaries: Path
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    logs: list[IO[bytes]] = field(default_factory=list)
    store_url: str = ""
    more: tuple[str, ...] = ()
    """Options for the scheduler and the controllers."""

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start everything and wait until the API server is ready."""
        self.home.mkdir(parents=True, exist_ok=True)
        self._write_token()
        self._keys()
        self._write_kubeconfig()
        self.start_etcd()
        self.start_api()
        for name in ("kube-scheduler", "kube-controller-manager"):
            if (self.binaries / name).exists():
                self._component(name)

    def start_etcd(self) -> None:
        """Start the store."""
        client, peer = free_port(), free_port()
        self.store_url = f"http://127.0.0.1:{client}"
        self._run(
            "etcd", "--data-dir", str(self.home / "etcd"), "--unsafe-no-fsync",
            "--listen-client-urls", self.store_url, "--advertise-client-urls", self.store_url,
            "--listen-peer-urls", f"http://127.0.0.1:{peer}",
        )  # fmt: skip

    def start_api(self) -> None:
        """Start the API server, also again on the same port and store."""
        key = str(self.home / "sa.key")
        self._run(
            "kube-apiserver", "--etcd-servers", self.store_url, "--secure-port", str(self.port),
            "--bind-address", "127.0.0.1", "--cert-dir", str(self.home / "certs"),
            "--token-auth-file", str(self.home / "tokens.csv"), "--authorization-mode", "RBAC",
            "--service-account-key-file", key, "--service-account-signing-key-file", key,
            "--service-account-issuer", "https://evenshare.test",
            "--service-cluster-ip-range", "10.0.0.0/24",
            "--disable-admission-plugins", "ServiceAccount",
        )  # fmt: skip
        self._wait_ready()

    def kill(self, name: str) -> None:
        """End one process at once, as a power cut would."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """End everything and remove the files; nothing of it is worth an orderly end."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        for log in self.logs:
            log.close()
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig that signs in as the cluster admin."""
        return self.home / "admin.kubeconfig"

    def _write_kubeconfig(self) -> None:
        authority = str(self.home / "certs" / "apiserver.crt")
        cluster = {"server": self.url, "certificate-authority": authority}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self.token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        }
        self.kubeconfig.write_text(json.dumps(content))

    def _write_token(self) -> None:
        (self.home / "tokens.csv").write_text(f'{self.token},admin,admin,"system:masters"\n')

    def _keys(self) -> None:
        subprocess.run(
            ["openssl", "genrsa", "-out", str(self.home / "sa.key"), "2048"],
            check=True, capture_output=True,
        )  # fmt: skip

    def _component(self, name: str) -> None:
        config = str(self.kubeconfig)
        common = ["--kubeconfig", config, "--leader-elect=false", "--secure-port", "0"]
        if name == "kube-controller-manager":
            common += ["--controllers", "*,-node-lifecycle-controller,-taint-eviction-controller"]
            # Each controller under its own account, as kubeadm sets them up.
            common += ["--use-service-account-credentials"]
        self._run(name, *common, *self.more)

    def _run(self, name: str, *arguments: str) -> None:
        log = (self.home / f"{name}.log").open("ab")
        self.logs.append(log)
        self.processes[name] = subprocess.Popen(
            [str(self.binaries / name), *arguments], stdout=log, stderr=log
        )

    def _wait_ready(self) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        trusting = ssl._create_unverified_context()
        request = urllib.request.Request(
            f"{self.url}/readyz", headers={"Authorization": f"Bearer {self.token}"}
        )
        while time.monotonic() < until:
            try:
                with urllib.request.urlopen(request, timeout=2, context=trusting):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        log = (self.home / "kube-apiserver.log").read_text()[-2000:]
        raise RuntimeError(f"the API server does not come up:\n{log}")

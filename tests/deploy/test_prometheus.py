"""A real Prometheus takes our figures, and our alerts load, fire and are over."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from portal.common import clock
from portal.operations import reports
from tests import builders, services
from tests.production import ROOT, end, wait_until
from tests.with_services import free_port

RULES = ROOT / "deploy/prometheus/alerts.yaml"
CASES = Path(__file__).with_name("alerts_test.yaml")
DASHBOARD = ROOT / "deploy/grafana/evenshare.json"
TOKEN = "a-token-for-prometheus"


def _program(name: str) -> str:
    found = services.where(name)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail(f"{name} is missing")
    if found is None:
        pytest.skip(f"needs {name}: apt-get install prometheus")
    return found


def _promtool(*words: str) -> str:
    done = subprocess.run(
        [_program("promtool"), *words], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def test_the_rules_and_the_configuration_hold() -> None:
    assert f"{len(_alerts())} rules found" in _promtool("check", "rules", str(RULES))
    _promtool("check", "config", "--syntax-only", "deploy/prometheus/prometheus.yaml")


def test_every_alert_fires_where_it_should_and_is_over_when_that_is_over() -> None:
    cases = yaml.safe_load(CASES.read_text())["tests"]
    assert [case["name"] for case in cases] == [rule["alert"] for rule in _alerts()]
    for case in cases:
        fires, over = case["promql_expr_test"]
        assert (fires["exp_samples"], over["exp_samples"]) == ([{"value": 1}], [])
        assert case["name"] in fires["expr"]
    _promtool("test", "rules", str(CASES))


def test_every_alert_says_what_is_and_what_to_do() -> None:
    for rule in _alerts():
        assert rule["annotations"].keys() == {"summary", "do"}, rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning")


def test_alerts_and_dashboard_ask_only_for_figures_there_are() -> None:
    source = "".join(p.read_text() for p in (ROOT / "portal/operations").glob("*.py"))
    there = set(re.findall(r'"(evenshare_[a-z_]+)"', source))
    panels = json.loads(DASHBOARD.read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    asked += [rule["expr"] for rule in _alerts()]
    names = {name for text in asked for name in re.findall(r"evenshare_[a-z_]+", text)}
    assert {re.sub(r"_(total|bucket)$", "", name) for name in names} <= there
    assert len(names) > 20


def test_the_dashboards_panels_have_a_title_a_unit_and_do_not_overlap() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
        if panel["type"] != "row":
            assert panel["title"]
            assert panel["description"]
            assert panel["fieldConfig"]["defaults"]["unit"]
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))


class Watched:
    """A web server of two processes and a Prometheus that reads it every second."""

    def __init__(self, web: int, prometheus: int) -> None:
        self.web, self.prometheus = web, prometheus

    def page(self, path: str, **headers: str) -> int:
        """Open a page of the portal; gives the code."""
        url = f"http://127.0.0.1:{self.web}{path}"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def ask(self, expression: str) -> list[float]:
        """What Prometheus has for an expression now."""
        url = f"http://127.0.0.1:{self.prometheus}/api/v1/query?query={quote(expression)}"
        try:
            with urllib.request.urlopen(url) as answer:
                found = json.load(answer)["data"]["result"]
        except OSError:
            return []
        return [float(sample["value"][1]) for sample in found]


@pytest.fixture
def watched(committed_database: str, tmp_path: Path) -> Iterator[Watched]:
    builders.a_cluster()
    reports.note(name=reports.AUDIT, ok=True, now=clock.real_now())
    web, port = free_port(), free_port()
    environment = {
        **os.environ, "DATABASE_URL": committed_database, "EVENSHARE_VAR": str(tmp_path),
        "EVENSHARE_METRICS_TOKEN": TOKEN, "EVENSHARE_BEHIND_PROXY": "yes",
        "DJANGO_SETTINGS_MODULE": "portal.settings", "TMPDIR": str(tmp_path),
    }  # fmt: skip
    server = [
        sys.executable, "-m", "gunicorn", "--config", "deploy/gunicorn_conf.py", "portal.wsgi",
        "--bind", f"127.0.0.1:{web}", "--workers", "2",
    ]  # fmt: skip
    configuration = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [
            {"job_name": "evenshare", "authorization": {"credentials": TOKEN},
             "static_configs": [{"targets": [f"127.0.0.1:{web}"]}]}
        ],
    }  # fmt: skip
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
    prometheus = [
        _program("prometheus"), f"--config.file={tmp_path}/prometheus.yaml",
        f"--storage.tsdb.path={tmp_path}/tsdb", f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]  # fmt: skip
    with _running(server, environment), _running(prometheus, dict(os.environ)):
        yield Watched(web, port)
    assert not list(tmp_path.glob("evenshare-metrics-*"))


@contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(
        command, env=environment, cwd=ROOT, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        end(process, signal.SIGTERM)


def test_prometheus_reads_all_processes_and_an_alert_fires_and_is_over(watched: Watched) -> None:
    wait_until(lambda: watched.ask('up{job="evenshare"}') == [1], "the first reading")
    assert watched.page("/metrics") == 401
    for _ in range(20):
        assert watched.page("/account/login/", Connection="close") == 200
    login = 'evenshare_http_requests_total{route="account_login",status="200"}'
    wait_until(lambda: watched.ask(login) == [20], "the requests of both processes, added up")
    assert watched.ask('evenshare_cluster_stale{cluster="lab"}') == [1]
    broken = 'ALERTS{alertname="EvenshareAuditBroken",alertstate="firing"}'
    assert watched.ask(broken) == []
    reports.note(name=reports.AUDIT, ok=False, now=clock.real_now(), says="line 7")
    wait_until(lambda: watched.ask(broken) == [1], "the alert")
    reports.note(name=reports.AUDIT, ok=True, now=clock.real_now())
    wait_until(lambda: watched.ask(broken) == [], "its end")

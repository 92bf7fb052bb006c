"""The files in ``deploy`` call only what exists: commands, options, settings, routes and metrics.

No container runs here. Files of systemd are also held against systemd itself, where it is installed.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer
import yaml
from packaging.requirements import Requirement
from prometheus_client.parser import text_string_to_metric_families
from serving import STREAM, people, running, until

from likewise.cli import app
from likewise.cli.serve import check
from likewise.service.configuration import Configuration, configured
from likewise.service.engine import Engine
from likewise.service.monitoring import Metrics, StreamHealth

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
PAGE = ROOT / "docs" / "operations.md"
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file())
SUFFIXES = ("_total", "_bucket", "_count", "_sum")


def read(name):
    return (DEPLOY / name).read_text(encoding="utf-8")


def lines_of_containerfile():
    """The instructions of the Containerfile, (name, rest); lines that go on are joined, comments left out."""
    text = re.sub(r"^#.*\n", "", read("Containerfile"), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def instruction(name):
    """The last one of its name, which counts."""
    return [rest for kind, rest in lines_of_containerfile() if kind == name][-1]


def variables_of_containerfile():
    return dict(word.split("=", 1) for word in shlex.split(instruction("ENV")))


def compose():
    return yaml.safe_load(read("compose.yaml"))["services"]["likewise"]


def variables_of_compose():
    """As Compose hands them over, where nothing is set but what must be."""

    def value(text):
        return re.sub(r"\$\{\w+(?::([-?])([^}]*))?\}", lambda m: m[2] if m[1] == "-" else "given", text)

    return {name: value(text) for name, text in compose()["environment"].items()}


def unit(name):
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str
    parser.read_string(read(name))
    return parser


def require_command(words):
    """Fail unless a command line is one of ours, with options that it has."""
    assert Path(words[0]).name == "likewise", words
    command, rest = typer.main.get_command(app), words[1:]
    while hasattr(command, "commands"):
        assert rest[0] in command.commands, words
        command, rest = command.commands[rest[0]], rest[1:]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= known, words


def rules():
    (group,) = yaml.safe_load(read("alerts.yaml"))["groups"]
    return group["rules"]


def expressions():
    """Every question to Prometheus: of the alerts and of the dashboard."""
    dashboard = json.loads(read("grafana.json"))
    return [rule["expr"] for rule in rules()] + [
        target["expr"] for panel in dashboard["panels"] for target in panel["targets"]
    ]


def metric_names():
    """The names that a service answers with at ``/metrics``, streams by name included, and the labels of each."""
    metrics = Metrics(named=True)
    metrics.requests.labels("GET", "/livez", "200").inc()
    metrics.seconds.labels("GET", "/livez").observe(0.01)
    families = text_string_to_metric_families(metrics.text([StreamHealth("loans")]).decode())
    return {sample.name: set(sample.labels) for family in families for sample in family.samples}


class TestContainer:
    def test_it_is_built_in_two_stages_and_runs_as_nobody_in_particular(self):
        kinds = [kind for kind, _ in lines_of_containerfile()]
        assert kinds.count("FROM") == 2
        assert kinds.index("USER") > max(i for i, kind in enumerate(kinds) if kind in ("RUN", "COPY"))
        user, group = instruction("USER").split(":")
        assert int(user) > 0, "a number, so that a cluster can see that it isn't root"
        assert int(group) > 0

    def test_what_is_copied_exists_and_is_all_that_the_build_needs(self):
        copied = {word for kind, rest in lines_of_containerfile() if kind == "COPY" and "--from" not in rest
                  for word in rest.split()[:-1]}  # fmt: skip
        assert all((ROOT / name).exists() for name in copied)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        needed = {"pyproject.toml", "src", project["project"]["readme"], *project["project"]["license-files"]}
        assert needed <= copied
        (extras,) = re.search(r'"\.\[([a-z,]+)\]"', read("Containerfile")).groups()
        assert set(extras.split(",")) <= set(project["project"]["optional-dependencies"])

    def test_the_constraints_are_the_packages_of_the_lock_file(self):
        script = re.search(r"sed -nE '([^']*)'", read("Containerfile"))[1]
        made = subprocess.run(
            ["sed", "-nE", script, ROOT / "requirements.lock"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        locked = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if line[:1].isalnum()]
        assert len(made) == len(locked) > 100
        assert all(str(Requirement(line).specifier).startswith("==") for line in made)

    def test_what_it_starts_exists_and_is_safe(self):
        require_command([*json.loads(instruction("ENTRYPOINT")), *json.loads(instruction("CMD"))])
        settings = ours(variables_of_containerfile())
        check(Configuration(**settings))
        for name in ("database", "key", "checkpoints", "erasures"):
            assert Path(settings[name]).parent == Path(instruction("WORKDIR")), "on the volume"
        assert json.loads(instruction("VOLUME")) == [instruction("WORKDIR")]
        assert int(instruction("EXPOSE")) == Configuration.model_fields["port"].default

    @pytest.mark.parametrize("of", ["Containerfile", "compose.yaml"])
    def test_the_health_check_says_yes_to_a_service_and_no_to_nobody(self, of, tmp_path):
        if of == "Containerfile":
            words = json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])
        else:
            words = compose()["healthcheck"]["test"][1:]
        assert words[:2] == ["python", "-c"]
        here = "http://127.0.0.1:8321"
        assert here in words[2]
        with running(database=str(tmp_path / "log.db")) as service:
            until(lambda: service.service.engine.ready)
            asked = [sys.executable, "-c", words[2].replace(here, service.url)]
            assert subprocess.run(asked, capture_output=True).returncode == 0
            if of == "compose.yaml":
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(Engine, "start", lambda self: None)  # the clock would have it ready at once
                    service.engine.ready = False
                    assert subprocess.run(asked, capture_output=True).returncode == 1, "others wait until it is ready"
        assert subprocess.run(asked, capture_output=True).returncode == 1

    def test_loops_are_compiled_where_the_root_can_not_be_written(self, tmp_path):
        """As in the container, where there is no home and nobody may write beside the code."""
        code = "import numpy as np; from likewise.kernels.lots import draw; x = np.zeros(1); draw(x, x, x > 0)"
        given = {**os.environ, "HOME": "/nonexistent", "NUMBA_CACHE_DIR": str(tmp_path)}
        subprocess.run([sys.executable, "-c", code], env=given, check=True, capture_output=True)
        assert list(tmp_path.rglob("*.nbi")), "where it was told to"
        assert variables_of_containerfile()["NUMBA_CACHE_DIR"].startswith("/tmp/")
        assert "NUMBA_CACHE_DIR=/var/cache/likewise" in unit("likewise.service")["Service"]["Environment"]


def ours(variables):
    """The settings of the service in an environment; a name that no setting has is refused."""
    return {name.removeprefix("LIKEWISE_").lower(): value for name, value in variables.items() if "LIKEWISE_" in name}


class TestCompose:
    def test_its_root_is_read_only_and_it_can_do_nothing_more_than_it_must(self):
        service = compose()
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert [mount.partition(":")[0] for mount in service["tmpfs"]] == ["/tmp"]
        assert service["volumes"] == [f"likewise:{instruction('WORKDIR')}"]
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])

    def test_its_settings_are_those_of_the_service_and_safe(self):
        configuration = Configuration(**ours(variables_of_containerfile()) | ours(variables_of_compose()))
        check(configuration)
        assert configuration.workers == 2
        assert set(variables_of_compose()) - {"PGPASSWORD"} <= {
            f"LIKEWISE_{name.upper()}" for name in Configuration.model_fields
        }

    def test_the_database_it_waits_for_is_the_one_that_it_asks(self):
        services = yaml.safe_load(read("compose.yaml"))["services"]
        database, asked = services["database"]["environment"], variables_of_compose()
        where = f"postgresql://{database['POSTGRES_USER']}@database/{database['POSTGRES_DB']}"
        assert asked["LIKEWISE_DATABASE"] == where
        assert database["POSTGRES_PASSWORD"] == compose()["environment"]["PGPASSWORD"]
        assert "healthcheck" in services["database"], "it is waited for until it is healthy"
        assert compose()["depends_on"] == {"database": {"condition": "service_healthy"}}

    def test_it_has_longer_to_stop_than_requests_have_to_finish(self):
        from likewise.cli.serve import PATIENCE

        assert int(compose()["stop_grace_period"].removesuffix("s")) > PATIENCE
        assert int(unit("likewise.service")["Service"]["TimeoutStopSec"]) > PATIENCE

    def test_the_password_reaches_the_database_from_the_environment(self, monkeypatch):
        """libpq reads it by itself, so it need not stand in an address that is shown."""
        import psycopg

        monkeypatch.setenv("PGPASSWORD", "hidden")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect("postgresql://nobody@127.0.0.1:1/none", connect_timeout=2)
        assert b"PGPASSWORD" in [option.envvar for option in psycopg.pq.Conninfo.get_defaults()]


class TestSystemd:
    def test_the_service_starts_a_command_that_exists_and_waits_until_it_is_ready(self):
        service = unit("likewise.service")["Service"]
        require_command(shlex.split(service["ExecStart"]))
        assert (service["Type"], service["NotifyAccess"]) == ("notify", "all")
        assert service["UMask"] == "0077"
        assert Path(service["WorkingDirectory"]) == Path("/var/lib") / service["StateDirectory"]

    def test_its_settings_are_safe_and_inside_what_it_may_write(self, tmp_path):
        copied = shutil.copy(DEPLOY / "likewise.toml", tmp_path)
        configuration = configured(copied)
        check(configuration)
        state = Path(unit("likewise.service")["Service"]["WorkingDirectory"])
        for place in (configuration.key_file, configuration.checkpoint_file, configuration.erasure_file):
            assert place.parent == state
        assert Path(configuration.database).parent == state

    def test_the_backup_runs_as_written(self, tmp_path):
        """The line that the timer starts, with the places of this test in it."""
        with running(database=str(tmp_path / "log.db")) as service:
            service.admin.post("/v1/streams", json=STREAM)
            service.admin.post("/v1/streams/loans/rounds", json={"people": people(1)})
        (tmp_path / "likewise.toml").write_text(f'database = "{tmp_path / "log.db"}"\n')
        (tmp_path / "backups").mkdir()
        line = unit("likewise-backup.service")["Service"]["ExecStart"].replace("$$", "$").replace("%%", "%")
        for there, here in (
            ("/usr/local/lib/likewise/bin/likewise", f"{sys.executable} -m likewise"),
            ("/var/backups/likewise", str(tmp_path / "backups")),
            ("/etc/likewise", str(tmp_path)),
        ):
            assert there in line
            line = line.replace(there, here)
        subprocess.run(shlex.split(line), check=True, capture_output=True)
        (written,) = (tmp_path / "backups").iterdir()
        assert re.fullmatch(r"\d{8}T\d{6}Z\.backup", written.name)
        assert stat.S_IMODE(written.stat().st_mode) == 0o600

    @pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
    @pytest.mark.parametrize("name", ["likewise.service", "likewise-backup.service", "likewise-backup.timer"])
    def test_systemd_finds_nothing_wrong_with_it(self, name, tmp_path):
        for file in DEPLOY.glob("likewise*.*"):
            text = file.read_text().replace("/usr/local/lib/likewise/bin/likewise", "/bin/true")
            (tmp_path / file.name).write_text(text)
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", tmp_path / name], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")


class TestMonitoring:
    def test_every_metric_exists_with_the_labels_it_is_asked_by(self):
        known = metric_names()
        asked = 0
        for expression in expressions():
            for name, labels in re.findall(r"\b(likewise_\w+)(?:\{((?:[^{}]|\{stream\})*)\})?", expression):
                assert name in known, expression
                given = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels))
                assert given <= known[name] | {"job", "le"}, expression
                asked += 1
        assert asked > 20

    def test_every_metric_is_explained_on_the_page(self):
        page = PAGE.read_text(encoding="utf-8")
        for name in metric_names():
            plain = next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end)), name)
            if not name.endswith("_created"):
                assert f"`{plain}" in page, name
        written = set(re.findall(r"`(likewise_\w+)", page))
        assert written <= {*metric_names(), "likewise_requests", "likewise_request_seconds"}

    def test_every_route_that_is_asked_by_exists(self):
        from likewise.service.api.routes import health, router

        routes = {route.path for route in [*router.routes, *health.routes]}
        asked = {
            part
            for expression in expressions()
            for found in re.findall(r'route(?:=|!~|=~)"([^"]*)"', expression)
            for part in found.split("|")
        }
        assert {"/livez", "/v1/streams/{stream}/rounds"} <= asked <= routes
        (job,) = yaml.safe_load(read("prometheus.yaml"))["scrape_configs"]
        assert job["metrics_path"] in routes
        assert {f'job="{job["job_name"]}"'} == set(re.findall(r'job="[^"]*"', read("alerts.yaml")))

    def test_brackets_and_quotes_of_every_question_match(self):
        for expression in expressions():
            bare = re.sub(r'"[^"]*"', "", expression)
            assert '"' not in bare
            while (shorter := re.sub(r"\([^()[\]{}]*\)|\[[^()[\]{}]*\]|\{[^()[\]{}]*\}", "", bare)) != bare:
                bare = shorter
            assert not set(bare) & set("()[]{}"), expression

    def test_every_alert_has_a_severity_a_sentence_and_a_row_on_the_page(self):
        page = PAGE.read_text(encoding="utf-8")
        names = [rule["alert"] for rule in rules()]
        assert len(set(names)) == len(names) > 8
        for rule in rules():
            assert rule["labels"]["severity"] in ("page", "ticket")
            assert rule["annotations"]["summary"].endswith(".")
        section = page.split("\n## When something is wrong\n")[1]
        assert re.findall(r"^\| `(Likewise\w+)` \|", section, re.MULTILINE) == names, "what to do about each"

    def test_a_quantile_is_a_boundary_that_is_measured(self):
        """Between two boundaries a quantile is a guess."""
        (slow,) = [rule["expr"] for rule in rules() if rule["alert"] == "LikewiseSlow"]
        metrics = Metrics()
        metrics.seconds.labels("GET", "/livez").observe(0.01)
        boundaries = re.findall(r'le="([^"]+)"', metrics.text().decode())
        assert slow.rpartition("> ")[2] in boundaries

    def test_the_panels_of_the_dashboard_do_not_overlap(self):
        panels = json.loads(read("grafana.json"))["panels"]
        taken = [
            (x, y)
            for place in (panel["gridPos"] for panel in panels)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        assert len(set(taken)) == len(taken)
        assert max(x for x, _ in taken) == 23
        assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_on_the_page_and_every_name_in_it_is_a_setting(path):
    assert f"`deploy/{path.name}`" in PAGE.read_text(encoding="utf-8")
    known = {f"LIKEWISE_{name.upper()}" for name in Configuration.model_fields}
    assert set(re.findall(r"\bLIKEWISE_[A-Z_]+\b", path.read_text(encoding="utf-8"))) <= known


def test_commands_in_the_comments_of_the_files_exist():
    (line,) = re.findall(r"run --rm likewise (.*?)\s+#", read("compose.yaml"))
    require_command(["likewise", *shlex.split(line)])

"""The wheel that we would publish, in an environment of its own: it is whole, and what it declares is enough."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
UV = Path(sys.executable).with_name("uv")
SCRIPTS = "Scripts" if sys.platform == "win32" else "bin"
PLAY = """
import likewise as lw
data = lw.datasets.synthetic(300)
run = lw.fit(data, rounds=20, hypotheses="thresholds")
print(lw.__file__, run.transcript.rounds, run.predict_proba(data.people[:2]).shape)
"""
LIGHT = """
import likewise as lw, numpy as np
X = np.random.default_rng(0).random((100, 1))  # so many that no kernel must be compiled
policy = lw.Mixture(lw.Thresholds([[0.5]]), np.array([0.0, 0.2, 0.8, 0.0]))
print(lw.__file__, sorted(set(policy.probability(X).tolist())), lw.datasets.synthetic(50).features.shape)
"""
BARE = """
import likewise as lw, numpy as np
X = np.random.default_rng(0).random((200, 2))
F = lw.Thresholds.quantiles(X, cuts=4)
t = lw.play(lw.AdaHedge(F, k=2, alpha=0.1, T=30), lw.IID(X, X[:, 0] > 0.5, k=2), lw.MetricAuditor("euclidean", 0.1))
print(t.rounds, len(str(lw.certify(t))) > 100)
"""

pytestmark = pytest.mark.skipif(not UV.exists(), reason="uv, which make installs, is not beside this Python")


def run(*words: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(
        UV,
        "build",
        "--wheel",
        "--no-build-isolation",
        "--quiet",
        "--python",
        sys.executable,
        "--out-dir",
        out,
        cwd=ROOT,
    )
    return next(out.glob("*.whl"))


@pytest.fixture
def environment(wheel: Path, tmp_path: Path) -> Path:
    """A fresh environment with nothing in it."""
    run(UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv", cwd=tmp_path)
    return tmp_path / "venv" / SCRIPTS


def test_the_wheel_holds_every_file_that_the_source_does(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    kept = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    kept = {name for name in kept if "__pycache__" not in name}
    assert len(kept) > 300
    assert kept <= inside
    assert not [name for name in inside if name.startswith(("tests", "docs"))]


def test_the_installed_wheel_works_without_the_source(wheel: Path, environment: Path, tmp_path: Path) -> None:
    """Its dependencies are those of this environment, so that nothing is downloaded."""
    run(UV, "pip", "install", "--quiet", "--no-deps", "--python", environment / "python", wheel, cwd=tmp_path)
    ours = Path(
        run(
            environment / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path
        ).strip()
    )
    # A path in a .pth file is searched last, and the .pth files in it, such as that of the source, are not read.
    (ours / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    said = run(environment / "python", "-c", LIGHT, cwd=tmp_path)
    assert str(ours) in said
    assert "[0.2, 1.0] (50, " in said
    assert run(environment / "likewise", "--version", cwd=tmp_path).startswith("likewise ")
    run(
        environment / "python", "-c", "import likewise.service.run.app, likewise.service.proof.standalone", cwd=tmp_path
    )


@pytest.mark.slow
def test_what_the_wheel_declares_is_enough_to_play(wheel: Path, environment: Path, tmp_path: Path) -> None:
    """From the package index, in the versions of the lock file."""
    install = (
        UV,
        "pip",
        "install",
        "--quiet",
        "--python",
        environment / "python",
        "--constraint",
        tmp_path / "pins.txt",
    )
    pins = (ROOT / "requirements.lock").read_text().replace("\\\n", " ").splitlines()
    (tmp_path / "pins.txt").write_text("\n".join(line.partition("--hash")[0].strip() for line in pins))
    try:
        run(*install, wheel, cwd=tmp_path)
    except AssertionError as error:
        if "client error" in str(error) or "Could not connect" in str(error):
            pytest.skip("there is no package index here")
        raise
    assert run(environment / "python", "-c", BARE, cwd=tmp_path).strip() == "30 True"
    assert "Usage" in run(environment / "likewise", "--help", cwd=tmp_path)
    done = subprocess.run(
        [environment / "likewise", "serve"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert 'pip install ".[service]"' in " ".join((done.stdout + done.stderr).split())
    run(*install, f"likewise[data] @ {wheel.as_uri()}", cwd=tmp_path)
    assert "20 (2, 2)" in run(environment / "python", "-c", PLAY, cwd=tmp_path)

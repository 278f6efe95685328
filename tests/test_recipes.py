"""The recipes for continuous integration, run as they would be there: by a POSIX shell, with real containers."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import docker
import msgspec
import pytest
import yaml

from levelfield.analysis import analyse
from levelfield.report import html
from tests.commands import PATIENCE_S, ROOT, run
from tests.records_builder import make_run
from tests.share.shelves import changed_page, made

RECIPES = ROOT / "recipes"
WORKFLOW = RECIPES / "github-actions.yml"


def recipe(name: str, *words: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(RECIPES / name), *words],
        cwd=folder,
        env={**os.environ, "LEVELFIELD": f"{sys.executable} -m levelfield.cli", **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def program(path: Path, script: str) -> str:
    """Write a program for the shell; return what to call it."""
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("script", sorted(RECIPES.glob("*.sh")), ids=lambda script: script.name)
def test_any_shell_can_read_it_and_it_can_be_called(script: Path) -> None:
    subprocess.run(["sh", "-n", str(script)], check=True)
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize(("undecided", "code"), [("fail", 3), ("pass", 0)])
def test_what_is_not_decided_passes_only_where_it_may(undecided: str, code: int, tmp_path: Path) -> None:
    done = recipe("gate.sh", "a", "b", folder=tmp_path, LEVELFIELD="sh -c 'exit 3'", UNDECIDED=undecided)
    assert done.returncode != 0  # words are not parsed again by the shell: this is no command
    three = program(tmp_path / "three", "exit 3")
    done = recipe("gate.sh", "a", "b", folder=tmp_path, LEVELFIELD=three, UNDECIDED=undecided)
    assert done.returncode == code, done.stderr


@pytest.mark.parametrize(
    ("script", "link"),
    [("gate.sh", "gate"), ("gate.sh", "gate/reports"), ("nightly.sh", "reports"), ("nightly.sh", "site")],
)
def test_no_link_of_a_strangers_folder_is_written_through(script: str, link: str, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "comment.md").touch()
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / link).parent.mkdir(exist_ok=True)
    (tmp_path / "clone" / link).symlink_to(tmp_path / "outside")
    done = recipe(script, "a", "b", folder=tmp_path / "clone", LEVELFIELD="true")
    assert done.returncode == 2
    assert f"{link.partition('/')[0]} is a link" in done.stderr
    assert [each.name for each in (tmp_path / "outside").iterdir()] == ["comment.md"]


def test_the_workflow_calls_what_is_there() -> None:
    text = WORKFLOW.read_text(encoding="utf-8")
    called = re.findall(r"recipes/([\w.-]+)", text)
    assert set(called) >= {"gate.sh", "nightly.sh"}
    assert all((RECIPES / name).is_file() for name in called)
    for name in re.findall(r"--requirement (\S+)", text):
        assert (ROOT / name).is_file()
    assert "\t" not in text
    assert "pull_request_target" not in text  # a stranger's code must not run with this repository's rights


def test_the_workflow_of_pages_publishes_what_is_committed_and_stops_at_a_forgery(tmp_path: Path) -> None:
    text = (RECIPES / "github-pages.yml").read_text(encoding="utf-8")
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", each) for each in re.findall(r"uses: (\S+)", text))
    job = yaml.safe_load(text)["jobs"]["publish"]
    (step,) = (each for each in job["steps"] if "BASE_URL" in each.get("env", {}))
    good = made(1)
    for name, page in (("good", html.render(good, analyse(good))), ("forged", changed_page(made(2)))):
        (tmp_path / "reports" / name).mkdir(parents=True)
        (tmp_path / "reports" / name / "report.html").write_text(page, encoding="utf-8")
    environment = {
        **os.environ,
        "LEVELFIELD": f"{sys.executable} -m levelfield.cli",
        "BASE_URL": "https://a.github.io/b",
    }
    command = ["bash", "-e", "-c", step["run"]]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "Left out: forged" in done.stdout) == (1, True), done.stdout + done.stderr
    shutil.rmtree(tmp_path / "reports" / "forged")
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<link rel="canonical" href="https://a.github.io/b/">' in index


def said(folder: Path, code: int = 0) -> str:
    """Write a command that writes down its words and ends with a code; return what to call it."""
    return program(folder / "says", f'for word in "$@"; do echo "$word"; done >>{folder}/said\nexit {code}')


HOSTILE = "onnxruntime$(touch owned); touch owned"


@pytest.mark.parametrize("code", [0, 1, 3])
def test_the_actions_step_passes_its_inputs_as_words(code: int, tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (step,) = (each for each in action["runs"]["steps"] if each.get("id") == "gate")
    given = {"old": HOSTILE, "new": "onnxruntime", "undecided": "fail"}
    inputs = {name: given.get(name, found.get("default", "")) for name, found in action["inputs"].items()}
    variables = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], text)
        for name, text in step["env"].items()
    }
    assert "${{" not in step["run"], "an input within a script would be run"
    assert step["shell"] == "bash"
    own = {
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "LEVELFIELD": said(tmp_path, code),
    }
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], cwd=tmp_path, env={**os.environ, **variables, **own}, check=False
    )
    assert done.returncode == code
    assert (tmp_path / "output").read_text(encoding="utf-8") == f"code={code}\n"
    words = (tmp_path / "said").read_text(encoding="utf-8").splitlines()
    assert words[:5] == ["ab", HOSTILE, "onnxruntime", "--models", "resnet50"]
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(("job", "command"), [("levelfield-gate", "ab"), ("levelfield-nightly", "bench")])
def test_gitlabs_jobs_call_the_recipes(job: str, command: str, tmp_path: Path) -> None:
    found = yaml.safe_load((RECIPES / "gitlab-ci.yml").read_text(encoding="utf-8"))
    shutil.copytree(RECIPES, tmp_path / "recipes")
    variables = {**found["variables"], "LEVELFIELD": said(tmp_path)}
    script = "\n".join(found[job]["script"])
    done = subprocess.run(["sh", "-e", "-c", script], cwd=tmp_path, env={**os.environ, **variables}, check=False)
    assert done.returncode == 0
    words = (tmp_path / "said").read_text(encoding="utf-8").splitlines()
    assert words[0] == command
    if command == "ab":
        assert words[1:3] == [found["variables"]["OLD"], found["variables"]["NEW"]]
        assert found[job]["allow_failure"] == {"exit_codes": 3}


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A checkout whose openvino stands at an older release, and a `tool` whose `ab` only writes down its words."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("images", "suite"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore)
    folder = tmp_path / "images" / "openvino"
    (folder / "cpu@2026.4.0.lock").rename(folder / "cpu.lock")
    for path in folder.glob("cpu@*.lock"):
        path.unlink()
    requirements = folder / "requirements.in"
    requirements.write_text(re.sub("==.*", "==2026.4.0", requirements.read_text(encoding="utf-8")), encoding="utf-8")
    program(
        tmp_path / "tool",
        '[ "$1" = ab ] && { echo "$@" >said; exit 3; }\n'
        f'exec env PYTHONPATH={tmp_path}/suite {sys.executable} -m levelfield.cli "$@"',
    )
    return tmp_path


@pytest.mark.extended
def test_an_image_is_locked_again_and_compared_with_what_it_was(older: Path) -> None:
    folder = older / "images" / "openvino"
    before = (folder / "cpu.lock").read_bytes()
    done = recipe("relock.sh", "openvino", "--models", "mlp", folder=older, LEVELFIELD="./tool")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "openvino 2026.4.0 -> " in done.stdout
    assert (folder / "cpu@before.lock").read_bytes() == before
    assert "\nopenvino==2026.4.0" not in (folder / "requirements.in").read_text(encoding="utf-8")
    assert b"\nopenvino==2026.4.0 " not in (folder / "cpu.lock").read_bytes()
    assert (older / "said").read_text(encoding="utf-8").startswith("ab openvino@before openvino --models mlp --reports")
    # Once more: nothing is newer, and nothing is compared.
    (older / "said").unlink()
    (folder / "cpu@before.lock").unlink()
    kept = (folder / "cpu.lock").read_bytes()
    done = recipe("relock.sh", "openvino", folder=older, LEVELFIELD="./tool")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing newer for openvino" in done.stdout
    assert ((folder / "cpu.lock").read_bytes(), (older / "said").exists()) == (kept, False)


def nights(folder: Path, *, last: float = 1.0, bench: int = 0) -> str:
    """Write five nights and a baseline of the first three, and beside them what sorts behind all others.

    Return what to call as Levelfield: all is real but the measuring, which brings the sixth and ends with that code.
    """
    for number in range(1, 7):
        made = make_run(
            seed=number, models=("mlp",), backends=("onnxruntime",), scenarios=("latency",),
            slower={"onnxruntime": last} if number == 6 else {}, generations=5, rounds=2, max_calls=5,
        )  # fmt: skip
        made = msgspec.structs.replace(made, id=f"2026010{number}-night", started=f"2026-01-0{number}T02:00:00Z")
        (folder / "reports" / made.id).mkdir(parents=True)
        (folder / "reports" / made.id / "report.html").write_text(html.render(made, analyse(made)), encoding="utf-8")
    earlier = [f"2026010{number}-night" for number in (1, 2, 3)]
    assert run("baseline", "set", "good", *earlier, folder=folder).code == 0
    shutil.copytree(folder / "reports" / earlier[0], folder / "reports" / "from-elsewhere")
    (folder / "reports" / "20260106-night").rename(folder / "made")
    measured = f"mv made reports/20260106-night; exit {bench}"
    text = f'[ "$1" = bench ] && {{ {measured}; }}\nexec {sys.executable} -m levelfield.cli "$@"'
    return program(folder / "tool", text)


@pytest.mark.parametrize("reports", ["reports", "my reports"])
def test_the_last_three_nights_are_held_against_a_baseline(reports: str, tmp_path: Path) -> None:
    tool = nights(tmp_path)
    (tmp_path / "reports").rename(tmp_path / reports)
    Path(tool).write_text(Path(tool).read_text(encoding="utf-8").replace("reports/2", f"'{reports}'/2"))
    done = recipe("nightly.sh", folder=tmp_path, LEVELFIELD=tool, BASELINE="good", REPORTS=reports)
    assert done.returncode in {0, 1, 3}, done.stdout + done.stderr
    page = (tmp_path / reports / "comparison.md").read_text(encoding="utf-8")
    assert "Old: `baseline good` · new: `3 runs`" in page
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.extended
@pytest.mark.parametrize(
    ("last", "bench", "code"), [(1.0, 0, 0), (1.0, 3, 3), (20.0, 0, 1), (20.0, 3, 1), (20.0, 2, 1)]
)
def test_the_last_night_is_held_against_a_gate(last: float, bench: int, code: int, tmp_path: Path) -> None:
    tool = nights(tmp_path, last=last, bench=bench)
    run("baseline", "derive", "good", folder=tmp_path, code=0)
    done = recipe("nightly.sh", folder=tmp_path, LEVELFIELD=tool, GATE="good.gate.toml")
    assert done.returncode == code, done.stdout + done.stderr
    page = (tmp_path / "reports" / "gate.md").read_text(encoding="utf-8")
    assert "new: `20260106-night`" in page
    assert ("slower" in page) == (last > 1)
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.docker
def test_a_slowdown_stops_a_pull_request(engine: docker.DockerClient, tmp_path: Path) -> None:
    del engine
    tmp_path.chmod(0o755)
    summary = tmp_path / "summary.md"
    done = recipe(
        "gate.sh", "onnxruntime", "onnxruntime", "--models", "mlp", "--scenarios", "latency", "--max-slowdown", "3%",
        "--inject", "100%@onnxruntime#2", "--budget", "60s", "--precision-target", "50%",
        folder=tmp_path, GITHUB_STEP_SUMMARY=str(summary), UNDECIDED="pass",
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    comment = (tmp_path / "gate" / "comment.md").read_text(encoding="utf-8")
    assert "slower" in comment
    assert summary.read_text(encoding="utf-8") == comment
    assert "<testsuite" in (tmp_path / "gate" / "junit.xml").read_text(encoding="utf-8")
    assert (tmp_path / "gate" / "comparison.html").is_file()


def test_an_audit_asks_about_the_releases_of_all_locks_and_is_as_bad_as_the_worst(tmp_path: Path) -> None:
    image = tmp_path / "images" / "torch"
    image.mkdir(parents=True)
    for name in ("cpu.lock", "cu13.lock"):
        (image / name).write_text("# torch-2+cpu.whl\ntorch==2.13.0+cpu \\\n    --hash=sha256:00\n", encoding="utf-8")
    audit = program(tmp_path / "audit", 'cat "$3"; echo "$4 $5"; exit "$(($(wc -l <asked) < 1))"')
    (tmp_path / "asked").touch()
    done = recipe("audit.sh", "torch", "-s", "osv", folder=tmp_path, PIP_AUDIT=audit)
    assert done.returncode == 1
    assert done.stdout == "# torch-2+cpu.whl\ntorch==2.13.0 \\\n    --hash=sha256:00\n-s osv\n" * 2
    (tmp_path / "asked").write_text("\n", encoding="utf-8")
    assert recipe("audit.sh", "torch", folder=tmp_path, PIP_AUDIT=audit).returncode == 0
    assert recipe("audit.sh", "jax", folder=tmp_path, PIP_AUDIT=audit).returncode == 2

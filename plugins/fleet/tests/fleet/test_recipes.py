"""The recipes for fleets: run by a POSIX shell with stand-ins for SSH and Slurm, and the text of the manifest."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from levelfield.analysis import analyse
from levelfield.report import html
from levelfield_fleet import formats
from tests.fleet.samples import fleet, small
from tests.test_recipes import RECIPES, recipe

MANIFEST = RECIPES / "fleet-kubernetes.yml"


def script(file: Path, text: str) -> Path:
    file.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    file.chmod(0o755)
    return file


def bench(folder: Path, hosts: int) -> Path:
    """A stand-in for `levelfield`: `bench` leaves a record that was made before, one for each call."""
    for number in range(hosts):
        made = small(f"2026010{number}-run", number + 1)
        (folder / "made" / made.id).mkdir(parents=True)
        (folder / "made" / made.id / "report.html").write_text(html.render(made, analyse(made)), encoding="utf-8")
    return script(
        folder / "tool",
        f'[ "$1" = bench ] || exec {sys.executable} -m levelfield.cli "$@"\n'
        f'echo "$*" >>"{folder}/calls"\n'
        'while [ "$1" != --reports ]; do shift; done\n'
        f'for run in "{folder}"/made/*; do\n'
        '    mkdir -p "$2" && mv "$run" "$2/" 2>/dev/null && exit 0\n'
        "done\n"
        "exit 9\n",
    )


def test_over_ssh_every_host_is_measured_and_judged(tmp_path: Path) -> None:
    """The stand-in for SSH runs the command in a folder of the host, as a host's shell would."""
    tool = bench(tmp_path, 3)
    ssh = script(
        tmp_path / "ssh",
        f'[ "$1" = down ] && exit 255\nmkdir -p "{tmp_path}/hosts/$1" && cd "{tmp_path}/hosts/$1" && exec sh -c "$2"\n',
    )
    done = recipe(
        "fleet-ssh.sh", "fleet", "host-1", "user@host-2", "host-3", "down", "--", "--models", "it's; echo owned",
        folder=tmp_path, SSH=str(ssh), REMOTE=str(tool), LEVELFIELD=str(tool),
    )  # fmt: skip
    assert done.returncode in (1, 3), done.stdout + done.stderr
    assert "Of down no record can be read." in done.stdout
    assert "down ended with" in done.stderr
    words = ("fleet-ssh.sh", "fleet", "host-1")  # its old run is there, and none of this time
    assert recipe(*words, folder=tmp_path, SSH="false", LEVELFIELD="true").returncode == 3
    broken = script(tmp_path / "broken", 'case "$2" in *" bench "*) exit 0 ;; *) exit 255 ;; esac\n')  # afterwards
    assert recipe(*words, folder=tmp_path, SSH=str(broken), LEVELFIELD="true").returncode == 3
    records = sorted((tmp_path / "fleet").glob("*/*/report.html"))
    assert [file.parent.parent.name for file in records] == ["host-1", "host-3", "user@host-2"]
    assert (tmp_path / "calls").read_text(encoding="utf-8").count("--models it's; echo owned") == 3
    for name in ("fleet.html", "fleet.json", "fleet.prom"):
        assert (tmp_path / "fleet" / name).is_file()


def test_over_ssh_a_bundle_is_sent_first(tmp_path: Path) -> None:
    tool = bench(tmp_path, 1)
    remote = script(
        tmp_path / "remote",
        f'[ "$1 $2" = "images load" ] || exec "{tool}" "$@"\ncp "$3" "{tmp_path}/received"\n',
    )
    ssh = script(tmp_path / "ssh", f'mkdir -p "{tmp_path}/$1" && cd "{tmp_path}/$1" && exec sh -c "$2"\n')
    (tmp_path / "bundle").write_bytes(b"\x00\xffimages")
    done = recipe(
        "fleet-ssh.sh", "fleet", "host-1",
        folder=tmp_path, SSH=str(ssh), REMOTE=str(remote), LEVELFIELD=str(tool), BUNDLE=str(tmp_path / "bundle"),
    )  # fmt: skip
    assert (tmp_path / "received").read_bytes() == b"\x00\xffimages", done.stderr
    assert len(list((tmp_path / "fleet").glob("*/*/report.html"))) == 1


@pytest.mark.parametrize("words", [(), ("fleet",), ("fleet", "-oProxyCommand=x"), ("fleet", "a b"), ("fleet", "$(x)")])
def test_over_ssh_what_is_no_host_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = recipe("fleet-ssh.sh", *words, folder=tmp_path, SSH="false")
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())


def test_in_slurm_every_node_is_measured_and_judged(tmp_path: Path) -> None:
    tool = bench(tmp_path, 3)
    script(
        tmp_path / "srun",
        'while [ "${1#--}" != "$1" ]; do echo "$1" >>options; shift; done\n'
        'code=0\nfor node in n1 n2 n3; do SLURMD_NODENAME=$node "$@" || code=$?; done\nexit $code\n',
    )
    done = recipe(
        "fleet-slurm.sh", "run", "fleet", "--models", "two words",
        folder=tmp_path, LEVELFIELD=str(tool), SLURM_JOB_NUM_NODES="3", PATH=f"{tmp_path}:{os.environ['PATH']}",
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stdout + done.stderr
    assert "--nodes=3" in (tmp_path / "options").read_text(encoding="utf-8")
    assert sorted(file.parent.parent.name for file in (tmp_path / "fleet").glob("*/*/report.html")) == [
        "n1",
        "n2",
        "n3",
    ]
    assert (tmp_path / "calls").read_text(encoding="utf-8").count("--models two words") == 3
    assert (tmp_path / "fleet" / "fleet.prom").is_file()
    script(tmp_path / "srun", "exit 1\n")
    where = {"LEVELFIELD": "true", "SLURM_JOB_NUM_NODES": "3", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert recipe("fleet-slurm.sh", "run", "fleet", folder=tmp_path, **where).returncode == 3


@pytest.mark.parametrize(
    ("node", "code"),
    [("node-0000", 1), ("node-0001", 1), ("node-0002", 1), ("node-0003", 0), ("node-0007", 0), ("node-9", 0), ("n", 0)],
)
def test_in_slurm_a_prolog_drains_what_is_slow_wrong_or_failed(tmp_path: Path, node: str, code: int) -> None:
    (tmp_path / "fleet.prom").write_text(formats.openmetrics(fleet()), encoding="utf-8")
    done = recipe("fleet-slurm.sh", "check", "fleet.prom", folder=tmp_path, SLURMD_NODENAME=node)
    assert done.returncode == code, done.stderr


def test_in_slurm_no_verdict_drains_nothing(tmp_path: Path) -> None:
    assert recipe("fleet-slurm.sh", "check", "fleet.prom", folder=tmp_path, SLURMD_NODENAME="a").returncode == 0
    for words in ((), ("check",), ("other", "fleet.prom")):
        assert recipe("fleet-slurm.sh", *words, folder=tmp_path, SLURMD_NODENAME="a").returncode == 2


def test_the_manifest_asks_for_no_privilege() -> None:
    text = MANIFEST.read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if not line.strip().startswith("#")]
    for line in (
        "completionMode: Indexed", "runAsNonRoot: true", "allowPrivilegeEscalation: false",
        "readOnlyRootFilesystem: true", 'drop: ["ALL"]', "automountServiceAccountToken: false", "type: RuntimeDefault",
    ):  # fmt: skip
        assert line in lines
    assert not re.search(r"privileged: true|hostPath|hostNetwork|hostPID|hostIPC|\badd:", text)
    assert "\t" not in text
    # Requests equal limits, without which no processor is the pod's own.
    requests, limits = re.findall(r"(?:requests|limits):\n((?: +(?:cpu|memory|ephemeral-storage): .*\n)+)", text)
    assert requests == limits
    # Every place that is written to is a volume.
    mounted = set(re.findall(r"mountPath: (\S+)", text))
    assert mounted == {"/fleet", "/cache", "/tmp"}
    assert set(re.findall(r"- name: (\w+)\n +mountPath", text)) <= set(re.findall(r"        - name: (\w+)\n", text))


def test_the_shell_within_the_manifest_ends_well_where_there_is_a_record(tmp_path: Path) -> None:
    block = re.search(r"- \|\n((?: {14}.*\n)+)", MANIFEST.read_text(encoding="utf-8"))
    assert block is not None
    body = re.sub(r"^ {14}", "", block[1], flags=re.MULTILINE)
    (call,) = re.findall(r"levelfield (bench .*?)\|\|", body.replace("\\\n", " "), re.DOTALL)
    assert shlex.split(call)[0] == "bench"
    for code, expected in ((0, 0), (1, 0), (2, 1), (3, 1)):
        script(tmp_path / "levelfield", f"exit {code}\n")
        done = subprocess.run(
            ["sh", "-c", body], env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "NODE_NAME": "n"}, check=False
        )
        assert done.returncode == expected

"""What calls the command at boot: checked by systemd's own reader where it is installed, and by a shell."""

import shutil
import subprocess
from pathlib import Path

import pytest

from suite.errors import LevelfieldError
from suite.upgrade.unit import Call, call_of, cron_line, file_name, systemd_unit

ODD = Call("up", ("/usr/bin/printf", "%s", 'a "b" $HOME \\ 100%'), "/tmp", "root")


def test_the_call_has_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call = call_of("up", Path("reports"))
    assert call.words[-5:] == ("upgrade", "next", "up", "--reports", str(tmp_path / "reports"))
    assert Path(call.words[0]).is_absolute()
    assert call.folder == str(tmp_path)
    with pytest.raises(LevelfieldError, match="line break"):
        call_of("up", Path("a\nb"))


def test_the_unit_quotes_what_systemd_would_expand() -> None:
    assert 'ExecStart="/usr/bin/printf" "%%s"' in systemd_unit(ODD)
    assert '"a \\"b\\" $$HOME \\\\ 100%%"' in systemd_unit(ODD)


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed.")
    file = tmp_path / file_name("up")
    file.write_text(systemd_unit(call_of("up", tmp_path)))
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if file.name in line]


def test_a_shell_reads_the_line_of_cron_once_percents_are_plain() -> None:
    line = cron_line(ODD)
    assert line.startswith("@reboot sleep 120 && ")
    command = line.removeprefix("@reboot sleep 120 && ").replace("\\%", "%").rstrip("\n")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == 'a "b" $HOME \\ 100%'

"""What `make` says before it begins."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).parents[1]


def test_a_missing_bazel_is_said_first(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "env", "git", "make", "sh"):
        (tools / name).symlink_to(shutil.which(name))
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    done = subprocess.run(
        ["make", "test"],
        cwd=tmp_path,
        env={**os.environ, "PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "Bazel or GoogleTest is missing. Run `sudo apt-get install" in done.stderr
    assert not (tmp_path / ".venv").exists()

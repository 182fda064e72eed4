"""What is distributed: the sources are complete, and a wheel runs where there is no compiler."""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import pytest

from tests.helpers import processes

ROOT = pathlib.Path(__file__).parents[2]
OF_GIT_ALONE = (".ci/", ".gitignore")


def setup(*arguments, **environment):
    command = [sys.executable, "-W", "ignore", "setup.py", "--quiet", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=processes.environment() | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def python(*arguments, **environment):
    """What a program prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd="/",
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.in_turns
def test_the_source_distribution_has_every_file(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("Only git knows which files there are.")
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    wanted = {name for name in tracked if not name.startswith(OF_GIT_ALONE)}
    done = setup("egg_info", f"--egg-base={tmp_path}", "sdist", f"--dist-dir={tmp_path}")
    assert done.returncode == 0, done.stderr
    [path] = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert wanted - names == {name for name in wanted if not (ROOT / name).exists()}


@pytest.mark.parametrize(
    "module, found",
    [
        ("__version__ = '2.19.1'", "version 2.19.1 but expected 2.21"),
        ("raise ImportError('no such file')", "no such file but expected version 2.21"),
    ],
)
def test_a_tensorflow_that_does_not_fit_is_one_line(module, found, tmp_path):
    (tmp_path / "tensorflow.py").write_text(module)
    done = setup("build_ext", f"--build-lib={tmp_path}", PYTHONPATH=str(tmp_path))
    assert done.returncode != 0
    assert done.stderr.strip().splitlines()[-1] == (
        f"TensorFlow: got {found}. Run `pip install 'tensorflow~=2.21.0'`, or leave out "
        "--no-build-isolation."
    )
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_wheel_runs_where_there_is_no_compiler(tmp_path):
    pytest.importorskip("auditwheel", reason="`make wheel` installs it, or pip.")
    done = setup(
        *("egg_info", f"--egg-base={tmp_path}"),
        *("build", f"--build-base={tmp_path}/build"),
        *("bdist_wheel", f"--dist-dir={tmp_path}/plain"),
    )
    assert done.returncode == 0, done.stderr
    [plain] = (tmp_path / "plain").glob("*.whl")
    tools = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    repair = ["repair", "--exclude=libtensorflow*", f"--wheel-dir={tmp_path}", str(plain)]
    python("-m", "auditwheel", *repair, PATH=tools)
    [wheel] = tmp_path.glob("*.whl")
    assert "-manylinux_2_" in wheel.name
    installed = tmp_path / "installed"
    python("-m", "pip", "install", "--quiet", "--no-deps", f"--target={installed}", str(wheel))
    assert not list(installed.glob("*.libs")), "Libraries that others have were copied."
    assert shutil.which("c++", path=str(tmp_path)) is None
    given = {"PATH": str(tmp_path), "PYTHONPATH": str(installed)}
    find = "import importlib.util; print(importlib.util.find_spec('cavs_tf').origin)"
    assert python("-c", find, **given).startswith(str(installed))
    assert "self-check:       passed" in python("-m", "cavs_tf", **given)

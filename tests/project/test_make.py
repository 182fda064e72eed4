"""What `make` says before it begins, and how Bazel comes where it is missing."""

import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TOOLS = ("bash", "chmod", "cp", "env", "git", "gzip", "make", "mkdir", "rm", "sh")
TOOLS += ("sha256sum", "tar")
# An npm whose bazelisk prints what it is run with; it fails where Bazel cannot be downloaded.
NPM = """#!/usr/bin/env bash
echo called >> "$HOME/calls_of_npm"
[[ "$1 $2 $3" == "install --silent --prefix" && $5 == @bazel/bazelisk ]] || exit 1
mkdir -p "$4/node_modules/.bin"
cp "$HOME/bazelisk" "$4/node_modules/.bin/bazelisk"
"""
CURL = """#!/usr/bin/env bash
while [[ $1 != --output ]]; do shift; done
cp "$HOME/archive" "$2"
"""
BAZELISK = '#!/usr/bin/env bash\necho "bazelisk $* with GoogleTest of $GOOGLETEST_DIR"\n'


@pytest.fixture
def home(tmp_path):
    """An empty home, beside a checkout and a folder of programs without Bazel."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).symlink_to(shutil.which(name))
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    (tmp_path / "googletest/googletest").mkdir(parents=True)
    return tmp_path


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def run(home, *command, googletest="googletest"):
    kept = {k: v for k, v in os.environ.items() if k != "XDG_CACHE_HOME"}
    given = {"PATH": str(home / "bin"), "HOME": str(home), "GOOGLETEST_DIR": str(home / googletest)}
    return subprocess.run(
        command, cwd=home, env=kept | given, capture_output=True, text=True, check=False
    )


def test_a_missing_bazel_is_said_first(home):
    done = run(home, "make", "test")
    assert done.returncode != 0
    assert "Bazel or GoogleTest is missing. Run `sudo apt-get install" in done.stderr
    assert not (home / ".venv").exists()


def test_npm_installs_bazelisk_into_the_cache_of_a_user(home):
    program(home / "bin/npm", NPM)
    program(home / "bazelisk", BAZELISK)
    for _ in range(2):
        done = run(home, "tools/bazel.sh", "test", "//...")
        assert done.stdout == f"bazelisk test //... with GoogleTest of {home}/googletest\n"
    assert (home / "calls_of_npm").read_text() == "called\n"
    assert (home / ".cache/cavs_tf/node_modules").is_dir()


def test_a_bazel_that_cannot_be_downloaded_is_one_line(home):
    program(home / "bin/npm", NPM)
    program(home / "bazelisk", "#!/usr/bin/env bash\necho no network >&2; exit 1\n")
    done = run(home, "tools/bazel.sh", "--version")
    *_, line = done.stderr.splitlines()
    assert done.returncode != 0
    assert line.startswith("Bazel is missing, and cannot be downloaded. Run `sudo apt-get install")
    assert "no network" not in done.stderr


def archive(home, folder):
    """A curl that brings an archive with a file in that folder; returns its checksum."""
    (home / folder / "googletest").mkdir(parents=True)
    with tarfile.open(home / "archive", "w:gz") as file:
        file.add(home / folder, folder)
    shutil.rmtree(home / folder)
    program(home / "bin/curl", CURL)
    done = run(home, "sha256sum", "archive")
    return done.stdout.split()[0]


def test_googletest_comes_by_its_archive(home):
    program(home / "bin/bazelisk", BAZELISK)
    checksum = archive(home, "googletest-release-1.12.1")
    script = home / "tools/bazel.sh"
    lines = script.read_text().splitlines(keepends=True)
    [number] = [i for i, line in enumerate(lines) if line.startswith("googletest_sha256=")]
    lines[number] = f"googletest_sha256={checksum}\n"
    script.write_text("".join(lines))
    done = run(home, "tools/bazel.sh", "test", googletest="nowhere")
    assert done.stdout.endswith("/.cache/cavs_tf/googletest-release-1.12.1\n"), done.stderr


def test_another_archive_is_refused(home):
    program(home / "bin/bazelisk", BAZELISK)
    archive(home, "googletest-release-1.12.1")
    done = run(home, "tools/bazel.sh", "test", googletest="nowhere")
    assert done.returncode != 0
    assert "GoogleTest is missing, and cannot be downloaded. Run `sudo apt-get" in done.stderr
    assert not (home / ".cache/cavs_tf/googletest-release-1.12.1").exists()


def test_help_fits_a_screen_and_names_every_target():
    text = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z-]+):.* ##", text, re.M)
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    users, developers = done.stdout.split("\n\n")
    assert len(users.splitlines()) <= 12
    assert len(developers.splitlines()) <= 3
    assert [name for name in targets if name not in done.stdout.split()] == []

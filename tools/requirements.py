"""Prints the requirements in pyproject.toml: of the build, the package and what `make test` needs.

pip can install that only together with the project, whose build needs it first.
`requirements.py tensorflow-cpu` asks for that package where "tensorflow" is named;
`requirements.py tensorflow docs` prints that extra alone.
"""

import itertools
import pathlib
import sys

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10 has no tomllib.
    from pip._vendor import tomli as tomllib

NOT_OF_BUILD = ("cuda", "docs", "wheel", "nvrtc")


def main(tensorflow: str = "tensorflow", extra: str = "") -> None:
    text = (pathlib.Path(__file__).parents[1] / "pyproject.toml").read_text()
    settings = tomllib.loads(text)
    project = settings["project"]
    extras = project["optional-dependencies"]
    if extra:
        groups = [extras[extra]]
    else:
        groups = [settings["build-system"]["requires"], project["dependencies"]]
        groups += [extras[name] for name in extras if name not in NOT_OF_BUILD]
    for requirement in dict.fromkeys(itertools.chain(*groups)):
        print(requirement.replace("tensorflow", tensorflow, 1))


if __name__ == "__main__":
    main(*sys.argv[1:])

#!/usr/bin/env bash
# Runs Bazel with the arguments given, and gets it first where it is missing.
#
# Debian's package is what the tests run on (.bazelversion): it needs no download
# from anywhere else. A bazelisk or bazel that is on the PATH is used as it is.
set -euo pipefail

packages=(bazel-bootstrap googletest libbenchmark-dev)

# Debian's `bazel` only looks for the exact version that .bazelversion names.
find_bazel() {
  command -v bazel-4 || command -v bazelisk || command -v bazel
}

if ! bazel=$(find_bazel) || [[ $bazel == */bazel-4 && ! -d ${GOOGLETEST_DIR:-/usr/src/googletest} ]]; then
  if ! command -v apt-get > /dev/null || [[ $(id -u) != 0 ]]; then
    echo "Bazel or GoogleTest is missing. Run \`sudo apt-get install ${packages[*]}\`," \
      "or else \`npm install --global @bazel/bazelisk\`." >&2
    exit 1
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${packages[@]}" > /dev/null
  bazel=$(find_bazel)
fi

exec "$bazel" "$@"

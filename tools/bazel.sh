#!/usr/bin/env bash
# Runs Bazel with the arguments given, and gets it first where it is missing.
#
# Debian's package is what the tests run on (.bazelversion): it needs no download
# from anywhere else. A bazelisk or bazel that is on the PATH is used as it is.
# Without root, npm installs bazelisk, which downloads Bazel, into the user's cache.
set -euo pipefail

packages=(bazel-bootstrap googletest libbenchmark-dev)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cavs_tf
googletest=release-1.12.1
googletest_sha256=81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2

# Debian's `bazel` only looks for the exact version that .bazelversion names.
find_bazel() {
  command -v bazel-4 || command -v bazelisk || command -v bazel ||
    command -v "$cache/node_modules/.bin/bazelisk"
}

find_googletest() {
  local folder
  for folder in "${GOOGLETEST_DIR:-/usr/src/googletest}" "$cache/googletest-$googletest"; do
    [[ -d $folder/googletest ]] && echo "$folder" && return
  done
  return 1
}

give_up() {
  echo "$1 Run \`sudo apt-get install ${packages[*]}\`, or else put bazelisk on the PATH" \
    "(BAZELISK_BASE_URL names a mirror) and set GOOGLETEST_DIR to the sources of GoogleTest." >&2
  exit 1
}

install_packages() {
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${packages[@]}" > /dev/null
}

install_bazelisk() {
  command -v npm > /dev/null || give_up "Bazel or GoogleTest is missing."
  echo "Installing bazelisk into $cache" >&2
  mkdir -p "$cache"
  npm install --silent --prefix "$cache" @bazel/bazelisk > /dev/null ||
    give_up "Bazel is missing, and npm cannot install it."
  # Which downloads Bazel, now and not in the middle of something else.
  "$cache/node_modules/.bin/bazelisk" --version > /dev/null 2>&1 || {
    rm -rf "$cache/node_modules"
    give_up "Bazel is missing, and cannot be downloaded."
  }
}

install_googletest() {
  local archive=$cache/googletest.tar.gz
  echo "Downloading GoogleTest into $cache" >&2
  mkdir -p "$cache"
  curl --fail --silent --location --max-time 120 --output "$archive" \
    "https://github.com/google/googletest/archive/refs/tags/$googletest.tar.gz" &&
    echo "$googletest_sha256  $archive" | sha256sum --check --quiet > /dev/null &&
    tar -xzf "$archive" -C "$cache" ||
    give_up "GoogleTest is missing, and cannot be downloaded."
}

if ! bazel=$(find_bazel) || ! find_googletest > /dev/null; then
  if command -v apt-get > /dev/null && [[ $(id -u) == 0 ]]; then
    install_packages
  else
    find_bazel > /dev/null || install_bazelisk
    find_googletest > /dev/null || install_googletest
  fi
  bazel=$(find_bazel)
fi

GOOGLETEST_DIR=$(find_googletest) exec "$bazel" "$@"

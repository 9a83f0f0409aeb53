#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing. Where none is, it does nothing: no network, no
# output, some milliseconds.
#
#   scripts/bootstrap.sh SET...     one or more of: build, test, bench, check
set -euo pipefail

build=(g++ cmake ninja-build make pkg-config libfmt-dev libcli11-dev liblmdb-dev libxxhash-dev)
test=(python3 libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev valgrind)
bench=(libsqlite3-dev librocksdb-dev)  # to compare the store with; tests compile it, too
check=(python3 clang-format clang-tidy)

wanted=()
for set in "$@"; do
  case "$set" in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}" "${bench[@]}") ;;
    bench) wanted+=("${bench[@]}") ;;
    check) wanted+=("${check[@]}") ;;
    *)
      echo "bootstrap: there is no set '$set': say build, test, bench or check" >&2
      exit 2
      ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "bootstrap: this is no Debian system; install these by its own means: ${wanted[*]}" >&2
  exit 0
fi

is_installed() {
  # dpkg knows packages that were removed again, too; only this status means that it is there.
  [[ "$(dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null)" == installed* ]]
}

missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then exit 0; fi

as_root=()
if (($(id -u) != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "bootstrap: some packages are missing, and only root can install them. Run as root:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "bootstrap: installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null

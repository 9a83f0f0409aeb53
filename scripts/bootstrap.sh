#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing. Where none is, it does nothing: no network, no
# output, some milliseconds.
#
#   scripts/bootstrap.sh SET...     one or more of: build, python, package, test, bench, check,
#                                   fuzz, docs
set -euo pipefail

build=(g++ cmake ninja-build make pkg-config libfmt-dev libcli11-dev liblmdb-dev libxxhash-dev
       libjemalloc-dev libedit-dev libluajit-5.1-dev libcurl4-openssl-dev)
python=(pybind11-dev python3-dev python3-venv python3-pip)
package=(dpkg-dev file)
test=("${python[@]}" "${package[@]}" python3 python3-pytest python3-hypothesis python3-gdbm
      libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev valgrind redis-server redis-tools
      libhiredis-dev python3-redis python3-celery python3-rq bash zsh fish prometheus etcd-server
      etcd-client iproute2)
bench=(libsqlite3-dev librocksdb-dev redis-server redis-tools python3-matplotlib)
check=(python3 clang-format clang-tidy)
fuzz=(python3 clang libclang-rt-dev)  # libFuzzer is in the latter
docs=(python3 mkdocs doxygen python3-pygments)

# Node.js may have come from elsewhere, and then Debian's own packages would be in its way.
# The build bundles the web console with it.
command -v node >/dev/null || build+=(nodejs)
command -v npm >/dev/null || build+=(npm)
command -v chromium >/dev/null || test+=(chromium)

wanted=()
for set in "$@"; do
  case "$set" in
    build) wanted+=("${build[@]}") ;;
    python) wanted+=("${python[@]}") ;;
    package) wanted+=("${package[@]}") ;;
    test) wanted+=("${test[@]}" "${bench[@]}") ;;
    bench) wanted+=("${bench[@]}") ;;
    check) wanted+=("${check[@]}") ;;
    fuzz) wanted+=("${fuzz[@]}") ;;
    docs) wanted+=("${docs[@]}") ;;
    *)
      echo "bootstrap: there is no set '$set': say build, python, package, test," \
           "bench, check, fuzz or docs" >&2
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

# These are only peers for tests: no service of theirs may be left running on this machine.
# Debian asks policy-rc.d whether it may start one; it is in place while we install, no longer.
policy=/usr/sbin/policy-rc.d
ours=""
allow_services() {
  if [[ -n "$ours" ]]; then "${as_root[@]}" rm -f "$policy"; fi
}
services=()
for peer in redis-server prometheus etcd-server=etcd; do  # a package, and its service if it differs
  if [[ " ${missing[*]} " == *" ${peer%=*} "* ]]; then services+=("${peer#*=}"); fi
done
if ((${#services[@]} > 0)) && [[ ! -e "$policy" && ! -L "$policy" ]]; then
  trap allow_services EXIT
  ours=yes
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
fi
"${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null
allow_services
ours=""

# Nor may one start when the machine does. Where it was installed before, it is not ours to change.
if ! command -v systemctl >/dev/null; then services=(); fi
for service in "${services[@]}"; do
  "${as_root[@]}" systemctl disable --quiet "$service.service" >/dev/null 2>&1 || true
  if [[ -d /run/systemd/system ]]; then
    "${as_root[@]}" systemctl stop "$service.service" || true
  fi
done

#!/bin/sh
# Installs the Debian packages that the build needs and the machine lacks. Quick when all is there.
#
#   tools/setup.sh [clang] [bench] [stress]      also what the clang builds, the peers, the stress cases need
set -eu

need_command() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need_library() { ls /usr/lib/*/"$1".so* >/dev/null 2>&1 || missing="$missing $2"; }
need_file() { [ -e "$1" ] || missing="$missing $2"; }

# Sets `missing` to the packages that are not there.
look() {
  missing=
  need_command g++ g++
  need_command cmake cmake
  need_command ninja ninja-build
  need_command pkg-config pkg-config
  need_command python3 python3
  need_file /usr/include/gtest/gtest.h libgtest-dev
  need_file /usr/include/elfutils/libdwfl.h libdw-dev
  need_file /usr/include/sqlite3.h libsqlite3-dev
  need_file /usr/include/ares.h libc-ares-dev
  need_file /usr/include/openssl/ssl.h libssl-dev
  need_command openssl openssl
  for part in "$@"; do
    case $part in
      clang)
        need_command clang++ clang
        # The sanitizers' runtimes are a package of their own, named after clang's version.
        if command -v clang >/dev/null 2>&1; then
          version=$(clang -dumpversion | cut -d. -f1)
          need_file "$(clang --print-file-name="libclang_rt.asan-$(uname -m).a")" "libclang-rt-$version-dev"
        fi ;;
      bench) need_file /usr/include/boost/fiber/all.hpp libboost-fiber-dev ;;
      stress)   # other allocators
        need_library libjemalloc libjemalloc2
        need_library libmimalloc libmimalloc2.0 ;;
      *) echo "setup.sh: unknown part '$part'; parts are clang, bench, stress" >&2; exit 2 ;;
    esac
  done
}

look "$@"
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "setup.sh: this machine lacks (by Debian's package names):$missing" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "Packages are missing. Run this once as root, then try again:" >&2
  echo "    apt-get update && apt-get install -y$missing" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
while [ -n "$missing" ]; do  # twice when a package's name depends on one that has just come
  echo "setup.sh: installing$missing"
  before=$missing
  # shellcheck disable=SC2086
  apt-get install -y -q $missing
  look "$@"
  if [ "$missing" = "$before" ]; then
    echo "setup.sh: still missing after the installation:$missing" >&2
    exit 1
  fi
done

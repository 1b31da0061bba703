#!/bin/sh
# Cross-builds the context tests for aarch64, statically, and runs them under qemu-user.
# Skips, with a message and status 0, when a tool is missing. Usage: tools/test_aarch64.sh [build directory]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/aarch64}
cxx=${AARCH64_CXX:-aarch64-linux-gnu-g++}
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
gtest=${GTEST_SOURCE:-/usr/src/googletest/googletest}

skip() { echo "aarch64: skipped: $1"; exit 0; }
command -v "$cxx" >/dev/null || skip "no $cxx (package g++-aarch64-linux-gnu)"
[ -n "$qemu" ] || skip "no qemu-aarch64 (package qemu-user)"
[ -f "$gtest/src/gtest-all.cc" ] || skip "no GoogleTest source (package libgtest-dev or googletest)"

mkdir -p "$out"
flags="-std=c++20 -O2 -I$root/src -I$root/include -I$root/tests -I$gtest/include -pthread"
objects=""
compile() {   # source, extra flags
  object=$out/$(echo "${1#"$root"/}" | tr '/' '_').o
  objects="$objects $object"
  [ "$object" -nt "$1" ] && [ "$object" -nt "$newest" ] || "$cxx" $flags ${2:-} -c "$1" -o "$object"
}
newest=$(ls -t "$root"/src/*/*.hpp "$root"/src/os/linux/*.hpp "$root"/tests/unit/context/*.hpp | head -n 1)
compile "$gtest/src/gtest-all.cc" "-I$gtest"
compile "$gtest/src/gtest_main.cc" "-I$gtest"
for source in "$root"/src/base/*.cpp "$root"/src/os/linux/*.cpp "$root"/src/context/*.cpp \
              "$root"/src/context/*.S "$root"/tests/unit/context/*_test.cpp; do
  compile "$source"
done
# shellcheck disable=SC2086
"$cxx" -static -pthread $objects -o "$out/context_test"
# Death tests fork and run the binary again by its path, which qemu-user cannot promise.
exec "$qemu" "$out/context_test" --gtest_filter=-*DeathTest*

#!/bin/sh
# Installs a build into a scratch prefix, moves it, and builds a project against it: through find_package
# (static and shared) and through pkg-config. Usage: check.sh CMAKE BUILD_DIR CXX
set -eu
cmake=$1 build=$2 cxx=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$build/install_consumer
rm -rf "$work"
mkdir -p "$work"

"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"  # the package must not remember where it was installed
prefix=$work/prefix

"$cmake" -S "$here" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_BUILD_TYPE=Release >"$work/configure.log"
"$cmake" --build "$work/build"
"$work/build/consumer_static"
"$work/build/consumer_shared"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name weft.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
"$cxx" -std=c++20 -O2 "$here/main.cpp" -o "$work/consumer_pc" $(pkg-config --cflags --libs weft) \
  -Wl,-rpath,"$(pkg-config --variable=libdir weft)"
"$work/consumer_pc"

# Everything the shared library exports is weft's.
if nm -D --defined-only "$(find "$prefix" -name libweft.so)" | grep -v 4weft2v0; then
  echo "exported by libweft.so, but not weft's" >&2
  exit 1
fi

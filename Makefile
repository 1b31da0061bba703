# Everything from a bare Debian machine with make and git; `make help` lists the targets.

JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local
# make test TESTS=regex runs only the test executables that match
TESTS  ?= .
# make stress SECONDS=n CASES='regex...': so long in all, only the cases that match
SECONDS ?= 60
# Addresses of the process laid out at random can collide with ThreadSanitizer's shadow on recent kernels.
FIXED  := $(shell setarch -R true 2>/dev/null && echo setarch -R)

variants := release debug asan tsan
clang    := $(addsuffix -clang,$(variants))

.PHONY: help run wc test stress bench install clean setup setup-clang \
        $(filter-out release,$(variants)) $(clang)

help:
	@echo "make run            release build, then the tour (about 10 s)"
	@echo "make wc ARGS=PATH   release build, then count the words below PATH"
	@echo "make test           release build, then every test; TESTS=regex for some"
	@echo "make stress         foreign code in goroutines, with faults, SECONDS=60 in all; CASES=regex for some"
	@echo "make bench          the workloads beside every peer on this machine; ARGS='--rounds 3 skynet_1m'"
	@echo "make debug          the tests with the debug assertions"
	@echo "make asan | tsan    the tests under AddressSanitizer+UBSan | ThreadSanitizer"
	@echo "make release-clang | debug-clang | asan-clang | tsan-clang"
	@echo "make install        to PREFIX=$(PREFIX)"
	@echo "make clean"

setup:
	@tools/setup.sh
setup-clang:
	@tools/setup.sh clang

# $(call build,PRESET,TARGETS)
build = cmake --preset $(1) >/dev/null && cmake --build build/$(1) -j $(JOBS) $(if $(2),--target $(2))

run: setup
	@$(call build,release,weft_package weft_examples)
	build/release/examples/weft-tour

wc: setup
	@$(call build,release,weft_package weft_examples)
	build/release/examples/weft-wc $(ARGS)

test: setup
	@$(call build,release)
	ctest --test-dir build/release --no-tests=error --output-on-failure -R '$(TESTS)'

debug asan: setup
	@$(call build,$@)
	ctest --test-dir build/$@ --no-tests=error --output-on-failure -R '$(TESTS)'

tsan: setup
	@$(call build,$@)
	$(FIXED) ctest --test-dir build/$@ --no-tests=error --output-on-failure -R '$(TESTS)'

$(clang): setup-clang
	@$(call build,$@)
	$(if $(findstring tsan,$@),$(FIXED)) ctest --test-dir build/$@ --no-tests=error --output-on-failure -R '$(TESTS)'

stress: setup
	@tools/setup.sh stress || echo "going on without what is missing"
	@$(call build,release,weft_soak)
	@$(call build,asan,weft_soak)
	@python3 tools/stress.py --seconds $(SECONDS) $(CASES)

bench: setup
	@tools/setup.sh bench
	@$(call build,release,weft-bench)
	@python3 tools/bench.py $(ARGS)

install: setup
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build build/release -j $(JOBS) --target weft_package
	cmake --install build/release

clean:
	rm -rf build

# SPDX-License-Identifier: Apache-2.0
# The commands of everyday work; CMake does the rest. `make` alone lists them.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run build test torture fuzz bench microbench python package tarball docs check \
        format clean packages test-packages bench-packages

JOBS := $(shell nproc)
FOLDERS = include src bench examples tests
SOURCES = $(shell find $(FOLDERS) -name '*.h' -o -name '*.cc' -o -name '*.c' | sort)

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 18

run: build ## Build, and start the server on port 6379 and its console on 8379 (or the next free)
	build/release/mayfly serve --any-port --http-port 8379

build: build/release/build.ninja ## Build build/release/mayfly, libmayfly.a and libmayfly.so
	cmake --build build/release --target product

NINJA_FILES = build/release/build.ninja build/dev/build.ninja build/tsan/build.ninja
test: test-packages $(NINJA_FILES) ## Build and run all tests, in all three presets
	# It may be older than the packages of the tests.
	cmake --preset release -DMAYFLY_PYTHON=ON -DPython3_EXECUTABLE=$(PYTHON) >/dev/null
	cmake --build build/release
	cmake --build build/dev
	cmake --build build/tsan
	@echo 'subdirs(release dev tsan)' >build/CTestTestfile.cmake
	ctest --test-dir build -j$(JOBS) --output-on-failure --no-tests=error

# Debian's own Python first: that is what Debian's headers and pytest are for.
PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)
python: packages ## Install the Python package into build/venv and say how to use it
	@scripts/bootstrap.sh python
	cmake --preset release -DMAYFLY_PYTHON=ON -DPython3_EXECUTABLE=$(PYTHON) >/dev/null
	cmake --build build/release --target python_module
	test -x build/venv/bin/pip || $(PYTHON) -m venv build/venv
	build/venv/bin/pip install --quiet --no-index --disable-pip-version-check .
	@echo 'Installed. Start build/venv/bin/python and say: import mayfly'

package: packages ## Make Debian packages of the program, the library and the Python package
	@scripts/bootstrap.sh python package
	cmake --preset release -B build/package -DMAYFLY_PYTHON=ON -DPython3_EXECUTABLE=$(PYTHON) \
	      >/dev/null
	cmake --build build/package --target product python_module
	cd build/package && cpack
	@ls build/package/packages/*.deb

# One program without shared libraries, tried in an empty root (see docs/operations.md).
tarball: packages ## Make build/tarball/*.tar.gz: a static program that runs on any Linux
	cmake --preset release -B build/tarball-build -DMAYFLY_STATIC=ON >/dev/null
	cmake --build build/tarball-build --target mayfly texts
	$(PYTHON) scripts/tarball.py build/tarball-build build/tarball

docs: ## Make build/docs/index.html: guides and API as a site, checked for dead links
	@scripts/bootstrap.sh docs
	$(PYTHON) scripts/site/build.py

torture: build/dev/build.ninja
torture: test-packages build ## Kill servers and cut links many more times than the tests do
	MAYFLY=$(CURDIR)/build/release/mayfly python3 tests/persist/kill_test.py --long
	MAYFLY=$(CURDIR)/build/release/mayfly python3 tests/persist/expiry_log_test.py --long
	MAYFLY=$(CURDIR)/build/release/mayfly python3 tests/replication/cluster_test.py --long
	MAYFLY=$(CURDIR)/build/release/mayfly python3 tests/cluster/torture.py --long
	MAYFLY=$(CURDIR)/build/release/mayfly python3 tests/cluster/torture.py --long --in-sync
	MAYFLY=$(CURDIR)/build/release/mayfly python3 tests/cluster/torture.py --long --kills
	MAYFLY=$(CURDIR)/build/release/mayfly python3 tests/cluster/torture.py --long --kills \
	    --appendonly
	MAYFLY=$(CURDIR)/build/release/mayfly python3 tests/cluster/torture.py --faults 100 \
	    --in-sync --appendonly --restores
	MAYFLY=$(CURDIR)/build/release/mayfly python3 tests/cluster/frozen_test.py --long
	MAYFLY=$(CURDIR)/build/release/mayfly python3 tests/cluster/clock_test.py --long
	cmake --build build/dev --target cluster.tests
	MAYFLY_MODEL_SCHEDULES=10000 MAYFLY_MODEL_VERSIONS=4 \
	    build/dev/tests/cluster.tests --gtest_filter='*Model.*'

# SECONDS=60 is for each; ONLY="rdb aof" for some of them. New inputs go to build/fuzz/corpus.
SECONDS ?= 60
ONLY ?=
fuzz: packages build/fuzz/build.ninja ## Fuzz parsers, server and store for SECONDS each
	cmake --build build/fuzz $(if $(ONLY),--target $(addsuffix _fuzz,$(ONLY)))
	python3 scripts/fuzz.py --seconds $(SECONDS) $(ONLY)

# Other servers: make bench PEERS="--peer valkey=/usr/bin/valkey-server --peer redis=redis-server"
PEERS ?=
bench: bench-packages ## Compare strategies, store and server; results and charts in build/bench
	cmake --build build/release --target mayfly mayfly-bench
	mkdir -p build/bench
	build/release/mayfly-bench expiry --json build/bench/expiry.json
	build/release/mayfly-bench cache --json build/bench/cache.json
	build/release/mayfly-bench store --json build/bench/store.json
	build/release/mayfly-bench server $(PEERS) --json build/bench/server.json
	bench/charts.py build/bench/*.json --out build/bench

microbench: test-packages ## Run the micro-benchmarks that stand beside the code
	cmake --preset release
	cmake --build build/release --target benches
	set -e; for bench in build/release/benches/*; do "$$bench"; done

check: test-packages build/check/build.ninja ## Check format, clang-tidy and the house rules
	@scripts/bootstrap.sh check
	clang-format --dry-run -Werror $(SOURCES)
	python3 scripts/tidy.py
	run-clang-tidy -quiet -p build/check -j $(JOBS) '^(?!.*_test\.cc?$$)'
	run-clang-tidy -quiet -p build/check -j $(JOBS) -checks='-clang-analyzer-*' '_test\.cc?$$'

format: ## Format all C++ sources
	@scripts/bootstrap.sh check
	clang-format -i $(SOURCES)

clean: ## Remove all that was built
	rm -rf build

# Packages come first, for configuring looks for them; they do not make a configured build old.
packages:
	@scripts/bootstrap.sh build

# What was configured without these knows nothing of them.
bench-packages: packages
	@scripts/bootstrap.sh bench
	cmake --preset release

test-packages:
	@scripts/bootstrap.sh build test

build/release/build.ninja: CMakePresets.json | packages
	cmake --preset release

build/dev/build.ninja: CMakePresets.json | test-packages
	cmake --preset dev

# clang can't read what g++ has precompiled, so clang-tidy is told of no such headers.
build/check/build.ninja: CMakePresets.json | test-packages
	cmake --preset dev -B build/check -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON

build/tsan/build.ninja: CMakePresets.json | test-packages
	cmake --preset tsan

build/fuzz/build.ninja: CMakePresets.json | packages
	@scripts/bootstrap.sh fuzz
	cmake --preset fuzz

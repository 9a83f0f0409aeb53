#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzzers of build/fuzz for a given time each, and keeps what they learn.

    make fuzz SECONDS=60 ONLY=rdb            builds, then runs this
    scripts/fuzz.py --seconds 60 rdb aof
    scripts/fuzz.py --add "short length" rdb build/fuzz/findings/rdb-crash-...
    scripts/fuzz.py --minimize rdb           writes tests/fuzz/rdb.seeds anew

A fuzzer x begins with the inputs of tests/fuzz/x.seeds, which is in the repository (expanded to
build/fuzz/seeds/x), and those that earlier runs have found, in build/fuzz/corpus/x, where new ones
go. It exits with 1 if there is a finding: an input that crashes, hangs, leaks, or breaks a promise.
The input is in build/fuzz/findings. --add appends it to x.seeds, with a comment that says what the
defect was: `make test` runs all inputs of that file.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import fuzz_seeds

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/fuzz"
SEEDS = ROOT / "tests/fuzz"
GOLDEN = ROOT / "tests/data/golden"

# The longest input, where it is not 4 KiB.
LENGTHS = {"page_check": 98_304, "rdb": 70_000, "store_files": 715}
# Files that serve as inputs too.
MORE_SEEDS = {"rdb": [GOLDEN]}
# Of the committed inputs: one that is longer is left out.
KEPT_BYTES_MAX = 16_384


def fuzzers(names):
    there = sorted(path.name.removesuffix("_fuzz") for path in (BUILD / "fuzzers").glob("*_fuzz"))
    unknown = [name for name in names if name not in there]
    if unknown or not there:
        sys.exit(f"fuzz: {' '.join(unknown) or 'no fuzzer'} is not built; "
                 f"there are: {' '.join(there) or 'none'} (make fuzz builds them)")
    return names or there


def folders(name):
    """Where inputs come from; new ones go to the first."""
    corpus = BUILD / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    expanded = BUILD / "seeds" / name
    shutil.rmtree(expanded, ignore_errors=True)
    expanded.mkdir(parents=True)
    for number, (_, data) in enumerate(known_seeds(name)):
        (expanded / f"{number:04}").write_bytes(data)
    seeds = [expanded, *MORE_SEEDS.get(name, [])]
    return [str(corpus), *(str(folder) for folder in seeds)]


def seeds_file(name):
    return SEEDS / f"{name}.seeds"


def known_seeds(name):
    return fuzz_seeds.read(seeds_file(name)) if seeds_file(name).exists() else []


def add(name, comment, paths):
    """Appends inputs to the committed ones; the comment keeps them when those are minimized."""
    new = [(comment, Path(path).read_bytes()) for path in paths]
    fuzz_seeds.write(seeds_file(name), known_seeds(name) + new)
    print(f"{seeds_file(name).relative_to(ROOT)}: {len(new)} added")


def command(name, *options):
    words = [str(BUILD / "fuzzers" / f"{name}_fuzz"), f"-max_len={LENGTHS.get(name, 4096)}",
             "-timeout=25", "-rss_limit_mb=4096", *options]
    dictionary = SEEDS / f"{name}.dict"
    if dictionary.exists():
        words.append(f"-dict={dictionary}")
    return words


def last_number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run(name, seconds):
    """Returns a line of results, and the findings with what was printed last."""
    findings = BUILD / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    words = command(name, f"-max_total_time={seconds}", "-print_final_stats=1", "-reload=0",
                    f"-artifact_prefix={findings}/{name}-", *folders(name))
    # Stores are files: with a disk of memory there are some ten times as many runs.
    environment = dict(os.environ)
    if Path("/dev/shm").is_dir():
        environment.setdefault("TMPDIR", "/dev/shm")
    done = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    log = BUILD / f"{name}.log"
    log.write_text(text)
    found = [Path(path) for path in re.findall(r"Test unit written to (\S+)", text)]
    line = (f"{name:12} {last_number(r'number_of_executed_units: *([0-9]+)', text):12,} "
            f"{last_number(r'new_units_added: *([0-9]+)', text):10,} "
            f"{last_number(r'cov: ([0-9]+)', text):8,} {len(found):8}")
    tail = "\n".join(text.splitlines()[-30:])
    return line, found, tail, done.returncode


def report(name, found, tail, code):
    if code == 0:
        return False
    print(f"\n{name}: the fuzzer ended with {code}. {BUILD.relative_to(ROOT)}/{name}.log ends:\n")
    print(tail)
    for path in found:
        print(f"\nTo reproduce:\n  build/fuzz/fuzzers/{name}_fuzz {path.relative_to(ROOT)}")
        print(f"To keep it as a test:\n  scripts/fuzz.py --add 'WHAT IT WAS' {name} "
              f"{path.relative_to(ROOT)}")
    return True


def fuzz(names, seconds):
    print(f"{'fuzzer':12} {'executions':>12} {'new inputs':>10} {'coverage':>8} findings",
          flush=True)
    results = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        runs = {pool.submit(run, name, seconds): name for name in names}
        for done in concurrent.futures.as_completed(runs):
            line, *rest = done.result()
            print(line, flush=True)
            results[runs[done]] = rest
    bad = [report(name, *results[name]) for name in names]
    return 1 if any(bad) else 0


def minimize(name):
    """The committed inputs become the fewest that cover what all known ones do. Findings stay."""
    fresh = BUILD / "minimized" / name
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    # Which code is reached counts, not how often: so there are few.
    subprocess.run(command(name, "-merge=1", "-use_counters=0", str(fresh), *folders(name)),
                   cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    kept = [("", path.read_bytes()) for path in fresh.iterdir()
            if path.stat().st_size <= KEPT_BYTES_MAX]
    findings = [seed for seed in known_seeds(name) if seed[0]]
    fuzz_seeds.write(seeds_file(name), kept + findings)
    print(f"{name:12} {len(kept):6} inputs and {len(findings)} with a comment")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="fuzzers (default: all); after --add, a fuzzer "
                        "and files")
    parser.add_argument("--seconds", type=int, default=60, help="for each (default: 60)")
    parser.add_argument("--minimize", action="store_true",
                        help="write tests/fuzz/*.seeds from all known inputs, instead of fuzzing")
    parser.add_argument("--add", metavar="COMMENT", help="add files to the inputs of a fuzzer")
    options = parser.parse_args()
    if options.add:
        if len(options.names) < 2:
            parser.error("--add needs a fuzzer and at least one file")
        add(options.names[0], options.add, options.names[1:])
        return 0
    names = fuzzers(options.names)
    if not options.minimize:
        return fuzz(names, options.seconds)
    for name in names:
        minimize(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())

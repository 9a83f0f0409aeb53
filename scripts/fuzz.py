#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzzers of build/fuzz for a given time each, and keeps what they learn.

    make fuzz SECONDS=60 ONLY=rdb            builds, then runs this
    scripts/fuzz.py --seconds 60 rdb aof
    scripts/fuzz.py --minimize rdb           writes the committed corpus anew

A fuzzer x begins with the inputs in tests/fuzz/x, which are in the repository, and those that
earlier runs have found, in build/fuzz/corpus/x, where new ones go. It exits with 1 if there is a
finding: an input that crashes, hangs, leaks, or breaks a promise. The input is in
build/fuzz/findings. Copy it to tests/fuzz/x: `make test` runs all that is there.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/fuzz"
SEEDS = ROOT / "tests/fuzz"
GOLDEN = ROOT / "tests/data/golden"

# The longest input, where it is not 4 KiB.
LENGTHS = {"page_check": 98_304, "rdb": 70_000, "store_files": 715}
# Files that serve as inputs too.
MORE_SEEDS = {"rdb": [GOLDEN]}
# Of the committed corpus: an input longer than this is left out.
KEPT_BYTES_MAX = 24_576


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
    seeds = [SEEDS / name, *MORE_SEEDS.get(name, [])]
    return [str(corpus), *(str(folder) for folder in seeds if folder.is_dir())]


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
        print(f"To keep it as a test:\n  cp {path.relative_to(ROOT)} tests/fuzz/{name}/")
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
    seeds = SEEDS / name
    seeds.mkdir(exist_ok=True)
    for path in seeds.iterdir():
        if re.fullmatch("[0-9a-f]{40}", path.name):
            path.unlink()
    kept = [path for path in fresh.iterdir() if path.stat().st_size <= KEPT_BYTES_MAX]
    for path in kept:
        shutil.copyfile(path, seeds / path.name)
    total = sum(path.stat().st_size for path in seeds.iterdir())
    print(f"{name:12} {len(kept):6} inputs, {total:,} bytes with the findings")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="fuzzers; all, if none is named")
    parser.add_argument("--seconds", type=int, default=60, help="for each (default: 60)")
    parser.add_argument("--minimize", action="store_true",
                        help="write tests/fuzz from what is known, instead of fuzzing")
    options = parser.parse_args()
    names = fuzzers(options.names)
    if not options.minimize:
        return fuzz(names, options.seconds)
    for name in names:
        minimize(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())

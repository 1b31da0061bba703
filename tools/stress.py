#!/usr/bin/env python3
"""Runs weft-soak (tests/soak) in many ways, for a time in all, and says which did not hold.

  tools/stress.py [--seconds 60] [--list] [REGEX...]

The time is shared by the cases that match; `--seconds 600 '^mix-1$'` gives one ten minutes. Cases in which
threads do not come take longer than their share: their goroutines have to begin first. A log for each is in
build/stress/. Where gdb is installed, a case that fails adds the stacks of all threads to its log, before
the dump of all goroutines.

Slices last 200 us (WEFTDEBUG=slice=200). Exit status: 0, 1 if one failed, 2 for a wrong argument.
"""
import argparse
import ctypes.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "stress"
EXIT_LIMIT_S = 5      # from the last line of a program to its end
PATIENCE_S = 60       # beside its time, on a machine that is busy with others
GDB = 'gdb -p "$SOAK_PID" -batch -ex "thread apply all bt 20"'


class Case:
    """One way to run weft-soak. `weight`: its share of the time."""

    def __init__(self, name, arguments, environment=None, preload=None, build="release", weight=1):
        self.name, self.arguments, self.environment = name, arguments.split(), environment or {}
        self.preload, self.build, self.weight = preload, build, weight

    def binary(self):
        return BUILD / self.build / "tests" / "soak" / "weft-soak"

    def missing(self):
        """Why it cannot run here, or None."""
        if not self.binary().exists():
            return f"not built: {self.binary().relative_to(ROOT)}"
        if self.preload and find_library(self.preload) is None:
            return f"no {self.preload}: tools/setup.sh stress"
        return None


def find_library(name):
    """What LD_PRELOAD takes: a path of ours, or the soname of an installed library."""
    if "/" in name:
        return name if os.path.exists(name) else None
    return ctypes.util.find_library(name)


def all_cases():
    hiccups = str(BUILD / "release" / "tests" / "soak" / "soak_hiccups.so")
    cases = []
    for procs in (1, 2, 8):
        def add(name, arguments, procs=procs, **more):
            cases.append(Case(f"{name}-{procs}", f"--procs {procs} {arguments}", **more))
        add("mix", "mix")
        add("one-arena", "mix", environment={"MALLOC_ARENA_MAX": "1"})
        add("jemalloc", "mix", preload="jemalloc")
        add("mimalloc", "mix", preload="mimalloc")
        add("threads-fail", "--threads fails mix")
        add("threads-hang", "--threads hangs mix")
        add("hiccups", "mix sleep", preload=hiccups)
        # Known to fail now and then, most of all beside other work: many are stopped while they spin for a
        # lock of ASan's allocator, or sleep in its mutex, and one stands for a second.
        add("asan", "mix", build="asan")
        if procs != 8:
            add("crowd", "--goroutines 1000 --arenas 1 --gap 50 large")
            add("crowd-10ms", "--goroutines 1000 --arenas 1 --gap 50 large",
                environment={"WEFTDEBUG": ""})
    cases.append(Case("asan-threads-fail-2", "--procs 2 --threads fails mix", build="asan"))
    cases.append(Case("compute-1", "--procs 1 compute", weight=6))
    cases.append(Case("asan-compute-1", "--procs 1 compute", build="asan", weight=2))
    return cases


def heed_sigquit():
    """A failure ends in a dump, by SIGQUIT; what a shell runs in the background ignores that."""
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def run(case, seconds, log):
    """What went wrong, or None."""
    environment = dict(os.environ, WEFTDEBUG="slice=200")
    environment.update(case.environment)
    if shutil.which("gdb"):
        environment["WEFT_SOAK_ON_FAILURE"] = GDB
    if case.preload:
        environment["LD_PRELOAD"] = find_library(case.preload)
    command = [case.binary(), "--seconds", f"{seconds:.1f}", *case.arguments]
    if case.arguments[-1] == "compute":   # 1 ms each: all of them only where there is time for it
        command += ["--goroutines", str(min(20000, max(1000, int(seconds * 400))))]
    with open(log, "w") as out:
        child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=out, text=True,
                                 preexec_fn=heed_sigquit)
        timer = Timer(child, 3 * seconds + PATIENCE_S)
        last = time.monotonic()
        line = ""
        for line in child.stdout:
            last = time.monotonic()
            out.write(line)
            out.flush()
        status = timer.wait()
        took = time.monotonic() - last
    if timer.fired:
        return "did not end"
    if status != 0:
        return f"exit status {status}: {reason(log)}"
    if line != "ok\n":
        return "ended without a result"
    return f"took {took:.1f} s to exit" if took > EXIT_LIMIT_S else None


class Timer:
    """Ends a child that takes too long: by SIGQUIT, which makes it dump, then by force."""

    def __init__(self, child, limit):
        self.child, self.fired = child, False
        self.timer = threading.Timer(limit, self.fire)
        self.timer.daemon = True
        self.timer.start()

    def fire(self):
        self.fired = True
        self.child.send_signal(signal.SIGQUIT)
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()

    def wait(self):
        status = self.child.wait()
        self.timer.cancel()
        return status


def reason(log):
    with open(log, errors="replace") as text:
        for line in text:
            if re.search(r"FAILED|fatal error|panic:|ERROR: |no progress", line):
                return line.strip()
    return "see the log"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="for all cases together (default 60)")
    parser.add_argument("--list", action="store_true", help="the names of the cases")
    parser.add_argument("cases", metavar="REGEX", nargs="*", help="only cases whose names match one of these")
    options = parser.parse_args()
    chosen = [c for c in all_cases() if not options.cases or any(re.search(r, c.name) for r in options.cases)]
    if not chosen:
        parser.error("no case matches; see --list")
    if options.list:
        print("\n".join(c.name for c in chosen))
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    able = [c for c in chosen if c.missing() is None]
    failed = []
    for case in chosen:
        print(f"{case.name:<20} ", end="", flush=True)
        if case.missing():
            print(f"skipped: {case.missing()}")
            continue
        seconds = max(1.0, options.seconds * case.weight / sum(c.weight for c in able))
        begun = time.monotonic()
        error = run(case, seconds, LOGS / f"{case.name}.log")
        print(f"{time.monotonic() - begun:6.1f} s  {'FAILED: ' + error if error else 'ok'}", flush=True)
        if error:
            failed.append(case.name)
    left_out = len(chosen) - len(able)
    print(f"\n{len(able) - len(failed)} held" + (f", {left_out} skipped" if left_out else "")
          + (f", FAILED: {' '.join(failed)}; logs in {LOGS.relative_to(ROOT)}/" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

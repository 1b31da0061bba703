#!/usr/bin/env python3
"""Runs the workloads side by side: Weft and each peer whose toolchain is on this machine.

Every workload runs in a process of its own; the systems take turns within a round, so that whatever else
the machine does hits all of them; the figure of a system is the median over the rounds. Ratios are peer over
Weft: above 1, Weft is faster (or smaller). Absolute times mean little on a noisy machine; compare in one run.

  tools/bench.py [--procs 1,2] [--rounds 3] [--peers go,tokio,boost_fiber] [--json FILE] [NAME...]

A table on stdout, everything measured in build/bench.json. bench/peers/README.md describes the workloads.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
WEFT = BUILD / "release" / "bench" / "weft-bench"
RUN_LIMIT_S = 180  # one process; what takes longer is shown as n/a

# What is run by default; the goals: how many times faster than Go at least, with procs 1 and 2.
GOALS = {
    "spawn": (5, 3), "spawn_join": (4, 4), "yield_1": None, "yield_2": (3.5, 3.5), "yield_1000": (3.5, 4),
    "chan_pingpong": (3, 3), "chan_buffered": (2.5, 2), "chan_mpmc": (1.7, 1.5), "select_pingpong": (3, 3),
    "ring_1000": (3, 3), "skynet_1m": (3, 2.5), "fib_25": (3, 2.5), "mutex_16": (1, 1),
    "timers_100k": (1.5, 1.3), "sieve_1000": (1.5, 1.3), "mem_1m": None,
}
# The figure that is compared, where it is not ns_per_op.
FIGURES = {"mem_1m": "bytes_per_g", "preempt_ticker": "late_ms_p50", "idle_handoff": "ns_p50"}


class Peer:
    """A system under measurement: how to build its program, and the command for one workload."""

    def __init__(self, name, tool, build, command, workloads=None, aliases=None):
        self.name, self.tool, self.build, self.command = name, tool, build, command
        self.workloads, self.aliases = workloads, aliases or {}
        self.version = ""

    def runs(self, workload):
        return self.workloads is None or workload in self.workloads


def say(text):
    print(text, file=sys.stderr, flush=True)


def build_step(command, cwd, log_name):
    """True when the command succeeds; its output goes to build/peers/LOG."""
    log = BUILD / "peers" / log_name
    with open(log, "w") as out:
        done = subprocess.run(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        say(f"  {' '.join(map(str, command[:2]))} failed, see {log.relative_to(ROOT)}")
    return done.returncode == 0


def build_go():
    return build_step(["go", "build", "-o", BUILD / "peers/gobench", "."], ROOT / "bench/peers/go", "go.log")


def build_tokio():
    # Built from a copy, so that Cargo's lock file stays out of the tree.
    work = BUILD / "peers" / "tokio"
    shutil.copytree(ROOT / "bench/peers/tokio", work, dirs_exist_ok=True)
    return build_step(["cargo", "build", "--release"], work, "tokio.log")


def build_boost_fiber():
    program = BUILD / "peers" / "bfbench"
    source = ROOT / "bench/peers/boost_fiber/main.cpp"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return True
    return build_step(["g++", "-O3", "-std=c++20", "-w", source, "-o", program,
                       "-lboost_fiber", "-lboost_context", "-pthread"], ROOT, "boost_fiber.log")


def peers():
    out = BUILD / "peers"
    return [
        Peer("go", "go", build_go, lambda p, w: ["env", f"GOMAXPROCS={p}", str(out / "gobench"), w]),
        Peer("tokio", "cargo", build_tokio,
             lambda p, w: [str(out / "tokio/target/release/tokiobench"), str(p), w],
             {"spawn", "spawn_join", "yield_1", "yield_2", "yield_1000", "chan_pingpong", "chan_buffered",
              "skynet_1m", "mutex_16", "timers_100k", "tcp_echo_100", "mem_1m"}),
        Peer("boost_fiber", "g++", build_boost_fiber, lambda p, w: [str(out / "bfbench"), str(p), w],
             {"spawn", "yield_1", "yield_2", "yield_1000", "chan_pingpong", "chan_buffered", "skynet_1m",
              "mutex_16", "mem_1m"},
             {"mem_1m": "mem_20k"}),
    ]


def version_of(tool):
    argument = "version" if tool == "go" else "--version"
    text = subprocess.run([tool, argument], capture_output=True, text=True).stdout
    return text.splitlines()[0] if text else ""


def available_peers(wanted):
    (BUILD / "peers").mkdir(parents=True, exist_ok=True)
    ready = []
    for peer in peers():
        if wanted and peer.name not in wanted:
            continue
        if not shutil.which(peer.tool):
            say(f"{peer.name}: skipped, no {peer.tool} on this machine")
            continue
        say(f"{peer.name}: building")
        if peer.build():
            peer.version = version_of(peer.tool)
            ready.append(peer)
        else:
            say(f"{peer.name}: skipped")
    return ready


def run_once(command, line_name):
    """All key=value figures of the workload's lines; None when the program fails or does not know it."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None
    figures = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if words and words[0] == line_name:
            for key, value in re.findall(r"(\w+)=([-+.\deE]+)", line):
                figures[key] = float(value)
    return figures if done.returncode == 0 and figures else None


def measure(systems, names, procs, rounds):
    """{(workload, procs, system): [figures of each round]}"""
    samples = {}
    total, done, start = rounds * len(names) * len(procs), 0, time.monotonic()
    for turn in range(rounds):
        for name in names:
            for p in procs:
                done += 1
                left = (time.monotonic() - start) / max(done - 1, 1) * (total - done + 1)
                status = f"[{done}/{total}] round {turn + 1}, {name}, procs {p}"
                status += f", about {left / 60:.0f} min left" if done > len(names) // 2 else ""
                if sys.stderr.isatty():
                    print(f"\r\033[K{status}", end="", file=sys.stderr, flush=True)
                elif p == procs[0]:
                    say(status)
                # Who begins changes from round to round.
                shift = turn % len(systems)
                for system in systems[shift:] + systems[:shift]:
                    if not system.runs(name):
                        continue
                    line_name = system.aliases.get(name, name)
                    figures = run_once(system.command(p, line_name), line_name)
                    if figures:
                        samples.setdefault((name, p, system.name), []).append(figures)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return samples


def median(samples, name, procs, system):
    runs = samples.get((name, procs, system))
    figure = FIGURES.get(name, "ns_per_op")
    values = [run[figure] for run in runs or [] if figure in run]
    return statistics.median(values) if values else None


def short(value):
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def print_table(samples, systems, names, procs):
    others = [s.name for s in systems if s.name != "weft"]
    short_of_goal = []
    for p in procs:
        print(f"\nprocs {p}: ns per operation (mem_1m: bytes a goroutine), and how many times Weft's")
        print(f"{'':16}{'weft':>10}" + "".join(f"{o:>14}{'':>9}" for o in others) + "    goal vs go")
        for name in names:
            ours = median(samples, name, p, "weft")
            row = f"{name:16}{short(ours):>10}"
            for other in others:
                theirs = median(samples, name, p, other)
                ratio = f"x{theirs / ours:.2f}" if ours and theirs else ""
                row += f"{short(theirs) if theirs is not None else '-':>14}{ratio:>9}"
            goal, go = goal_of(name, p), median(samples, name, p, "go")
            if goal:
                reached = bool(ours and go and go / ours >= goal)
                row += f"    x{goal:g}{'' if reached or not go else ' short'}"
                if go and not reached:
                    short_of_goal.append(f"{name}/{p}")
            print(row)
    if short_of_goal:
        print("\nshort of the goal: " + " ".join(short_of_goal))


def goal_of(name, procs):
    goals = GOALS.get(name)
    return goals[procs - 1] if goals and procs in (1, 2) else None


def write_json(path, samples, systems, names, procs, rounds):
    results = []
    for name in names:
        for p in procs:
            ours = median(samples, name, p, "weft")
            for system in systems:
                value = median(samples, name, p, system.name)
                if value is None:
                    continue
                results.append({
                    "workload": name, "procs": p, "system": system.name,
                    "figure": FIGURES.get(name, "ns_per_op"), "median": value,
                    "ratio": value / ours if ours and system.name != "weft" else None,
                    "rounds": samples[(name, p, system.name)],
                })
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "kernel": os.uname().release, "machine": os.uname().machine, "cpus": os.cpu_count(),
        "rounds": rounds, "versions": {s.name: s.version for s in systems},
        "results": results,
    }, indent=1) + "\n")


def list_of(kind):
    return lambda text: [kind(part) for part in text.split(",") if part]


def main():
    parser = argparse.ArgumentParser(description="The workloads beside every peer on this machine.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads; default: " + " ".join(GOALS))
    parser.add_argument("--procs", type=list_of(int), default=[1, 2], help="processor counts, default 1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", type=list_of(str), help="default: all whose toolchain is here")
    parser.add_argument("--json", type=pathlib.Path, default=BUILD / "bench.json")
    args = parser.parse_args()
    known = [p.name for p in peers()]
    for peer in args.peers or []:
        if peer not in known:
            parser.error(f"--peers {peer}: known are {', '.join(known)}")
    if args.rounds < 1 or min(args.procs) < 1:
        parser.error("--rounds and --procs are at least 1")
    if not WEFT.exists():
        parser.error(f"{WEFT.relative_to(ROOT)} is not built; `make bench` builds it")

    listed = subprocess.run([WEFT, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    for name in args.names:
        if name not in (line.split()[0] for line in listed if line.strip()):
            parser.error(f"unknown workload {name}; {WEFT.relative_to(ROOT)} --list shows all")

    weft = Peer("weft", "", None, lambda p, w: [str(WEFT), "--procs", str(p), w])
    systems = [weft] + (available_peers(args.peers) if args.peers != [] else [])
    names = args.names or list(GOALS)
    samples = measure(systems, names, args.procs, args.rounds)
    print_table(samples, systems, names, args.procs)
    write_json(args.json, samples, systems, names, args.procs, args.rounds)
    print(f"\nall figures: {args.json}")
    missing = [n for n in names if all(median(samples, n, p, "weft") is None for p in args.procs)]
    if missing:
        print("weft-bench gave no figure for: " + " ".join(missing), file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

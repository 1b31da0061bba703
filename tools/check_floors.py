#!/usr/bin/env python3
"""The house rules that a script can hold: floors, what public headers include, and tidiness.

  floors    a file of src/ includes its own floor or lower ones (docs/architecture.md)
  public    include/weft/ includes only weft/ and the standard library
  tidy      110 columns, 500 lines, #pragma once, no tabs or trailing blanks
  banned    in src/: std::mutex, std::thread, thread_local, preprocessor conditionals outside platform files
  readme    the program in README.md is examples/hello.cpp
  links     relative links of README.md, CONTRIBUTING.md and docs/ lead somewhere
  private   no committed text refers to a document that the repository does not have
  order     in src/: a memory order that is not the default one is explained by an [order] comment near it

Exit status 1 and one line a finding, `FILE:LINE: RULE: TEXT`. Run by CTest as `tidy`.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

FLOORS = {
    "base": 0, "os": 0,
    "context": 1, "stack": 1, "timeheap": 1, "event": 1,
    "sched": 2,
    "wait": 3,
    "chan": 4, "sync": 4, "timer": 4, "netpoll": 4,
    "net": 5, "task": 5, "resolve": 6, "tls": 6,
    "observe": 6,
}
# Public headers belong to the floor that implements them; those of weft/detail/ are looked through instead.
PUBLIC_FLOORS = {
    "chan": 4, "select": 4, "selector": 4, "mutex": 4, "shared_mutex": 4, "condition_variable": 4,
    "semaphore": 4, "latch": 4, "barrier": 4, "once": 4, "wait_group": 4, "timer": 4,
    "fd": 5, "file": 5, "process": 5, "signals": 5, "join_handle": 5, "goroutine_local": 5,
    "dump": 6, "weft": 6,
}

# Platform files: here the preprocessor may ask where it is compiled; for the debug checks it may everywhere.
CONDITIONALS_ALLOWED = re.compile(r"^src/(os/linux/|context/)")
CONDITIONAL = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif)\b(?!\s+WEFT_DEBUG_CHECKS\b)")
THREAD_LOCAL_ALLOWED = re.compile(r"^src/context/thread_pointer\.")
BANNED = {
    "std::mutex": r"\bstd::(recursive_|shared_|timed_)?mutex\b",
    "std::thread": r"\bstd::j?thread\b",
    "std::condition_variable": r"\bstd::condition_variable",
    "std::atomic": r"\bstd::atomic\s*<",
}
# As an argument (`load(acquire)`), or spelled in full.
ORDER = re.compile(r"[(,?:]\s*(?:rt::)?(relaxed|acquire|release|acq_rel)\s*(?=[,):])"
                   r"|\bmemory_order_(relaxed|acquire|release|acq_rel)\b")
EXPLAINED = re.compile(r"\[order\]|\b(relaxed|acquire|release|acq_rel)\b[^/]*:", re.I)
PRIVATE = re.compile(r"\bPROTOCOL[S]\b")   # not written as it reads: this file is looked at too
MAX_COLUMNS, MAX_LINES, ORDER_REACH = 110, 500, 4

findings = []


def report(path, line, rule, text):
    findings.append(f"{path}:{line}: {rule}: {text}")


def split_comments(lines):
    """For each line its code and its comment; strings are kept as code."""
    in_block = False
    for line in lines:
        code, comment, i = "", "", 0
        while i < len(line):
            if in_block:
                end = line.find("*/", i)
                stop = len(line) if end < 0 else end
                comment += line[i:stop]
                in_block = end < 0
                i = len(line) if end < 0 else end + 2
            elif line.startswith("//", i):
                comment += line[i + 2:]
                break
            elif line.startswith("/*", i):
                in_block = True
                i += 2
            elif line[i] == '"':
                match = re.compile(r'"(?:\\.|[^"\\])*"?').match(line, i)
                code += match.group()
                i = match.end()
            else:
                code += line[i]
                i += 1
        yield code, comment


def all_files():
    """What git knows or would add; without git, what is there."""
    try:
        out = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"],
                             cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        out = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
        out = [name for name in out if not name.startswith(("build/", ".git/"))]
    return [name for name in sorted(set(out)) if (ROOT / name).is_file()]


def is_source(name):
    wanted = re.match(r"(src|include|tests|examples|bench|tools)/", name)
    return wanted and not name.startswith("bench/peers/") and re.search(r"\.(hpp|cpp|inl|S|py|sh)$", name)


def check_include(path, line, target):
    if path.startswith("include/"):
        if "." in target.split("/")[-1] and not target.startswith("weft/"):
            report(path, line, "public", f'includes "{target}", which is neither weft/ nor std')
        return
    floor_name = path.split("/")[1]
    if path.count("/") < 2:
        return
    if floor_name not in FLOORS:
        report(path, line, "floors", f"src/{floor_name}/ has no floor; add it to tools/check_floors.py")
        return
    parts = target.split("/")
    if parts[0] == "weft" and len(parts) == 2:
        above, name = PUBLIC_FLOORS.get(parts[1].removesuffix(".hpp"), 0), target
    else:
        above, name = FLOORS.get(parts[0], 0), parts[0]
    if above > FLOORS[floor_name]:
        report(path, line, "floors",
               f"floor {FLOORS[floor_name]} ({floor_name}) includes floor {above} ({name})")


def check_order(path, number, code, comments, explained_at):
    """A comment explains the orders of the next lines; uses close together share it. Returns the last."""
    order = ORDER.search(code)
    if not order:
        return explained_at
    near = comments[max(0, number - 1 - ORDER_REACH):number]
    if any(EXPLAINED.search(comment) for comment in near) or number - explained_at <= ORDER_REACH:
        return number
    report(path, number, "order", f"{order.group(1) or order.group(2)} without an [order] comment")
    return explained_at


def check_source_line(path, number, code):
    for word, pattern in BANNED.items():
        if re.search(pattern, code):
            report(path, number, "banned", f"{word}; see base/ for what the runtime uses")
    if re.search(r"\bthread_local\b|\b__thread\b", code) and not THREAD_LOCAL_ALLOWED.match(path):
        report(path, number, "banned", "thread_local; the only one is in context/thread_pointer.cpp")
    if re.match(CONDITIONAL, code) and not CONDITIONALS_ALLOWED.match(path):
        report(path, number, "banned", "preprocessor conditional outside a platform file")


def check_file(path):
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
    if len(lines) - 1 > MAX_LINES:
        report(path, len(lines) - 1, "tidy", f"{len(lines) - 1} lines; {MAX_LINES} at most")
    if path.endswith(".hpp") and not any(line.startswith("#pragma once") for line in lines):
        report(path, 1, "tidy", "no #pragma once")
    split = list(split_comments(lines))
    comments = [comment for _, comment in split]
    explained_at = -ORDER_REACH
    for number, (line, (code, _)) in enumerate(zip(lines, split), 1):
        if len(line) > MAX_COLUMNS:
            report(path, number, "tidy", f"{len(line)} columns; {MAX_COLUMNS} at most")
        if "\t" in line or line != line.rstrip():
            report(path, number, "tidy", "tab or trailing blank")
        include = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', code)
        if include and re.match(r"(src|include)/", path):
            check_include(path, number, include.group(1))
        if path.startswith("src/"):
            check_source_line(path, number, code)
            explained_at = check_order(path, number, code, comments, explained_at)


def check_private(path):
    text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.split("\n"), 1):
        if match := PRIVATE.search(line):
            report(path, number, "private", f"{match.group()} is not in the repository")


def check_readme():
    shown = re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    program = (ROOT / "examples/hello.cpp").read_text().split("\n", 1)[1]  # without its opening comment
    if not shown or shown.group(1) != program:
        report("README.md", 1, "readme", "its program differs from examples/hello.cpp")


def check_links():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        blank = lambda block: "\n" * block.group().count("\n")  # code is not looked at
        text = re.sub(r"```.*?```", blank, page.read_text(), flags=re.S)
        for number, line in enumerate(text.split("\n"), 1):
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
                if not (page.parent / target).exists():
                    report(page.relative_to(ROOT), number, "links", f"{target} does not exist")


def main():
    files = 0
    for path in all_files():
        check_private(path)
        if is_source(path):
            files += 1
            check_file(path)
    check_readme()
    check_links()
    for finding in findings:
        print(finding)
    print(f"{files} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

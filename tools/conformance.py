#!/usr/bin/env python3
"""docs/conformance.md: which of Go's tests have one of ours.

The rows are in tests/conformance/rows.txt, the tests are found in tests/**/*_test.cpp. The states claim no
more than is looked at here: that a test of this name is in the suite that `make test` runs.

  tested         the test exists
  tested, may skip   so it does, and says GTEST_SKIP somewhere: read where
  part           the same; the note says what is left out
  differs: std   the same; it shows the meaning that the C++ standard gives the name
  later, n/a     no test is expected; the note says why
  missing        it should exist

  conformance.py           writes the table
  conformance.py --check   fails if the table is stale, a row lacks its test, or a test named Test... in
                           tests/conformance has no row. Run by CTest as `conformance_table`.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = ROOT / "tests/conformance/rows.txt"
TABLE = ROOT / "docs/conformance.md"
TEST = re.compile(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", re.M)

INTRODUCTION = """\
# Conformance

Made by `tools/conformance.py` of `tests/conformance/rows.txt` and the tests; do not edit.

Each row is one of Go's own tests (Go 1.26) that applies to what Weft offers so far. *Tested* says that a
test of ours asks the same question and is in the suite that `make test` runs, which does not succeed unless
it passes there. *Tested, may skip*: the test passes over itself on machines or in builds that lack something.
*Part*: less or something else is asked, see the note. *Differs: std*: the C++ standard gives the name another
meaning, and the test shows that one. *Later*: the part of Weft that it needs is not there yet. *n/a*: nothing
here that the question could be put to.

"""

Row = collections.namedtuple("Row", "line section file name tests note")
Test = collections.namedtuple("Test", "path skips")


def read_rows():
    rows, section = [], ""
    for number, line in enumerate(ROWS.read_text().splitlines(), 1):
        if heading := re.fullmatch(r"# ---- (.*?) ----", line):
            section = heading[1]
        if not line.strip() or line.startswith("#"):
            continue
        cells = [c.strip() for c in line.split("|")]
        if len(cells) != 4:
            sys.exit(f"{ROWS.relative_to(ROOT)}:{number}: a row has four cells")
        file, name, ours, note = cells
        tests = [] if ours == "-" else [t.replace("*", name) for t in ours.split()]
        rows.append(Row(number, section, file, name, tests, note))
    return rows


def find_tests():
    """suite.name -> where it is, of all tests that run by default."""
    found = {}
    for path in sorted((ROOT / "tests").glob("*/**/*_test.cpp")):
        text = path.read_text()
        starts = list(TEST.finditer(text))
        for here, following in zip(starts, starts[1:] + [None]):
            if here[2].startswith("DISABLED_"):
                continue
            body = text[here.end():following.start() if following else len(text)]
            found[f"{here[1]}.{here[2]}"] = Test(path.relative_to(ROOT), "GTEST_SKIP" in body)
    return found


def state(row, found):
    if not row.tests:
        return row.note.split(":")[0] if row.note.startswith(("later: ", "n/a: ")) else "missing"
    if any(t not in found for t in row.tests):
        return "missing"
    if row.note.startswith("differs: std"):
        return "differs: std"
    if row.note.startswith("part: "):
        return "part"
    return "tested, may skip" if any(found[t].skips for t in row.tests) else "tested"


def table(rows, found):
    count = collections.Counter(state(r, found) for r in rows)
    counts = sorted(count.items(), key=lambda c: -c[1])
    lines = [INTRODUCTION + ", ".join(f"{n} {what}" for what, n in counts) + "."]
    section = None
    for row in rows:
        if row.section != section:
            section = row.section
            lines += ["", f"## {section[0].upper()}{section[1:]}", "", "| Go's test | ours | state | note |",
                      "|---|---|---|---|"]
        ours = "<br>".join(f"`{found[t].path.as_posix()[len('tests/'):]}`: `{t}`" if t in found else f"`{t}`"
                           for t in row.tests)
        note = re.sub(r"^(part|later|n/a): |^differs: std;? ?", "", row.note)
        lines.append(f"| {row.file}: {row.name} | {ours} | {state(row, found)} | {note} |")
    return "\n".join(lines) + "\n"


def problems(rows, found, text):
    named = {t for r in rows for t in r.tests}
    for r in rows:
        where = f"{ROWS.relative_to(ROOT)}:{r.line}"
        if state(r, found) == "missing":
            yield f"{where}: no test {', '.join(t for t in r.tests if t not in found) or 'and no reason'}"
        if r.tests and r.note.startswith(("later: ", "n/a: ")):
            yield f"{where}: later and n/a have no test"
    for name, test in found.items():
        if test.path.parts[1] == "conformance" and re.search(r"\.Test[A-Z]", name) and name not in named:
            yield f"{test.path}: {name} is in no row of {ROWS.relative_to(ROOT)}"
    if not TABLE.exists() or TABLE.read_text() != text:
        yield f"{TABLE.relative_to(ROOT)} is stale: run tools/conformance.py"


def main():
    rows, found = read_rows(), find_tests()
    text = table(rows, found)
    if sys.argv[1:] == ["--check"]:
        wrong = list(problems(rows, found, text))
        print("\n".join(wrong) if wrong else f"{len(rows)} rows")
        return 1 if wrong else 0
    if sys.argv[1:]:
        sys.exit(__doc__)
    TABLE.write_text(text)
    return 0


sys.exit(main())

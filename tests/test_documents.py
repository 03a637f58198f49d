"""What the documents, the parameters and the code point to is there."""

import re
from collections import Counter
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
DOCUMENTS = (
    "README.md",
    "CHANGELOG.md",
    "docs/*.md",
    "data/official/README.md",
    "data/raw/**/*.md",
)
OTHERS = ("params.yaml", "dvc.yaml", "models/proof/*.yaml", "src/**/*.py", "src/**/*.yaml")

LINK = re.compile(r"\]\(([^()\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")
PATH = re.compile(r"\b(?:docs|data/raw)/[\w./-]*\w\.md\b")
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`]*`")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def find(top, patterns):
    return [path for pattern in patterns for path in sorted(top.glob(pattern))]


def without_blocks(document):
    return FENCED.sub("", document.read_text(encoding="utf-8"))


def anchors(document):
    """The anchors that GitHub gives the headings; a repeated one gets a number."""
    found = []
    repeats = Counter()
    for heading in HEADING.findall(without_blocks(document)):
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        found.append(f"{anchor}-{repeats[anchor]}" if repeats[anchor] else anchor)
        repeats[anchor] += 1
    return found


def dead_links(top):
    """Return `file: target` of each link in a document that leads nowhere."""
    dead = []
    for document in find(top, DOCUMENTS):
        for link in LINK.findall(CODE.sub("", without_blocks(document))):
            if ELSEWHERE.match(link):
                continue
            path, _, anchor = link.partition("#")
            target = document.parent / path if path else document
            if not target.exists() or (anchor and anchor not in anchors(target)):
                dead.append(f"{document.relative_to(top)}: {link}")
    return dead


def dead_paths(top):
    """Return `file: path` of each document that is named and isn't there."""
    return [
        f"{file.relative_to(top)}: {path}"
        for file in find(top, (*DOCUMENTS, *OTHERS))
        for path in sorted(set(PATH.findall(file.read_text(encoding="utf-8"))))
        if not (top / path).is_file()
    ]


@pytest.mark.parametrize("pattern", (*DOCUMENTS, *OTHERS))
def test_each_pattern_finds_files(pattern):
    assert find(TOP, [pattern])


def test_every_link_of_the_documents_leads_somewhere():
    assert dead_links(TOP) == []


def test_every_document_that_is_named_is_there():
    assert dead_paths(TOP) == []


def test_what_leads_nowhere_is_found(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "docs/a.md").write_text(
        "# One\n\n```\n# no heading\n```\n\n## The `b_c`, or d\n## One\n"
    )
    (tmp_path / "README.md").write_text(
        "[a](docs/a.md) [web](https://x.org/y) [b](docs/b.md) [c](docs/a.md#the-b_c-or-d)\n"
        "[d](docs/a.md#one-1) [e](docs/a.md#two) [f](docs/a.md#no-heading) [g](#here)\n"
        "![h](h.png) `d[i](A,B)`\n"
    )
    (tmp_path / "src/code.py").write_text(
        '"""As docs/a.md, docs/c.md. and data/raw/d/e.md say."""\n'
    )
    lost = ["docs/b.md", "docs/a.md#two", "docs/a.md#no-heading", "#here", "h.png"]
    assert dead_links(tmp_path) == [f"README.md: {link}" for link in lost]
    assert dead_paths(tmp_path) == [
        "README.md: docs/b.md",
        "src/code.py: data/raw/d/e.md",
        "src/code.py: docs/c.md",
    ]

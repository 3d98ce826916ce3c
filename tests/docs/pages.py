"""README.md and the pages of ``docs/``, taken apart."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^([ ]*)```(\w*)[^\n]*\n(.*?)^\1```[ ]*$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language and its text."""

    language: str
    text: str

    @property
    def title(self) -> str:
        """The first line, if it is a comment, without its mark."""
        first = self.text.partition("\n")[0]
        return first.removeprefix("# ") if first.startswith("# ") else ""


@dataclass(frozen=True, slots=True)
class Page:
    """One Markdown file, by its path from the project's root."""

    path: str

    @property
    def text(self) -> str:
        """The whole page."""
        return (ROOT / self.path).read_text()

    @property
    def blocks(self) -> list[Block]:
        """Its fenced blocks."""
        return [Block(match[2], textwrap.dedent(match[3])) for match in _FENCE.finditer(self.text)]

    @property
    def spans(self) -> list[str]:
        """The code spans of its prose."""
        return _SPAN.findall(_FENCE.sub("", self.text))

    @property
    def code(self) -> list[str]:
        """Everything set as code, line by line."""
        return [line for block in self.blocks for line in block.text.splitlines()] + self.spans

    @property
    def links(self) -> list[str]:
        """The targets of its links and pictures."""
        return _LINK.findall(_FENCE.sub("", self.text))

    def python(self, title: str) -> list[str]:
        """Its Python blocks whose first line is the comment ``title``, in order."""
        return [block.text for block in self.blocks if block.language == "python" and block.title == title]

    def section(self, heading: str) -> str:
        """The text under the heading of level 2, up to the next one."""
        return self.text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def pages() -> list[Page]:
    """README.md and every page of the docs."""
    docs = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md"))
    return [Page("README.md"), *(Page(str(path)) for path in docs)]

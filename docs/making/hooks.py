"""What the site has beside the pages of this folder: README as its home, the changelog, and tables of options."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import tadge
from tadge.config import options

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside of the folder of pages."""
    for name, page in PAGES.items():
        text = linked_from_docs((ROOT / name).read_text(encoding="utf-8"))
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the table of its options after each class of options."""
    if not page.file.src_uri.startswith("api/"):
        return markdown
    return re.sub(r"^::: tadge\.(\w+)$", with_options, markdown, flags=re.M)


def with_options(directive: re.Match[str]) -> str:
    """Give the directive of a public name; that of a class of options with its options as a table."""
    public = getattr(tadge, directive[1])
    if not (isinstance(public, type) and hasattr(public, "__dataclass_fields__") and options(public)):
        return directive[0]
    rows = [f"| `{one.name}` | `{one.default!r}` | {one.expected()} | {one.help} |" for one in options(public)]
    lines = ["| option | default | allowed | meaning |", "|---|---|---|---|", *rows]
    return f"{directive[0]}\n    options:\n      members: false\n\n" + "\n".join(lines)


def linked_from_docs(text: str) -> str:
    """Write links of a page of the root as a page of docs/ has them; what is no page is named, not linked."""

    def link(match: re.Match[str]) -> str:
        words, target, anchor = match.groups()
        if target.startswith("docs/"):
            target = target.removeprefix("docs/")
        elif target in PAGES:
            target = PAGES[target]
        elif not target.startswith("http"):
            return words
        return f"[{words}]({target}{anchor})"

    return re.sub(r"\[([^\]]+)\]\(([^)#\s]+)(#[^)]*|)\)", link, text)

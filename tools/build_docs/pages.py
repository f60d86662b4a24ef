"""Pages of the repository as pages of the site: in the same folders, so that links still hold."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE")
RESULTS = Path("experiments")
# A page is linked to by its file, a folder by its list.
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


def copy_pages(root: Path, pages: Path) -> list[str]:
    """Copy README, docs and what they quote; return what is wrong with their links."""
    (pages / "docs").mkdir(parents=True)
    problems = []
    for page in [*(root / name for name in PAGES), *sorted((root / "docs").glob("*"))]:
        if page.is_dir():
            continue
        there = pages / page.relative_to(root)
        if page.suffix == ".md":
            text, broken = _linked(page, root)
            there.write_text(text, encoding="utf-8")
            problems += broken
        else:
            shutil.copy(page, there)
    quoted = [path for path in sorted((root / RESULTS).rglob("*")) if _is_quoted(path, root)]
    for path in quoted:
        there = pages / path.relative_to(root)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, there)
    _write_list(pages / RESULTS / "results", "What was measured")
    _write_list(pages / "docs", "All pages", "*.md")
    return problems


def _is_quoted(path: Path, root: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    return path.is_file() and not hidden and path.suffix in (".csv", ".png", ".txt", ".json")


def _linked(page: Path, root: Path) -> tuple[str, list[str]]:
    """The text with folders linked to by their lists, and links that lead nowhere."""
    broken = []

    def link(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        there = page.parent / target
        if not there.exists() and not _is_made(there, root):
            broken.append(f"{page.relative_to(root)}: {target} leads nowhere")
        return f"]({target.rstrip('/')}/index.md{anchor})" if there.is_dir() else match[0]

    return LINK.sub(link, page.read_text(encoding="utf-8")), broken


def _is_made(path: Path, root: Path) -> bool:
    """Whether a page is written by the build: those of the reference, those of notebooks."""
    return path.with_suffix(".py").exists() or path.parent.resolve() == root / "reference"


def _write_list(folder: Path, title: str, which: str = "*") -> None:
    files = sorted(path for path in folder.glob(which) if path.is_file())
    lines = [f"# {title}", "", *(f"- [{_title(path)}]({path.name})" for path in files)]
    (folder / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _title(path: Path) -> str:
    """What a page is called, a file by its name."""
    if path.suffix != ".md":
        return path.name
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")

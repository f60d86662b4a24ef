"""Notebooks, run now: their code, what it printed and what it drew, as pages."""

from __future__ import annotations

import base64
import os
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

WORKERS = 2
TIMEOUT = 240  # seconds of a cell
# Warnings without the path of the file that they came from, on the machine that builds the site.
PLAIN_WARNINGS = (
    "import warnings; warnings.formatwarning = lambda message, *_, **__: f'warning: {message}\\n'"
)
# Colours, and what moves a cursor.
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run_notebooks(sources: Path, pages: Path) -> list[str]:
    """Run every notebook in a folder of its own and write its page; return those that failed."""
    pages.mkdir(parents=True, exist_ok=True)
    notebooks = sorted(sources.glob("*.py"))
    with ProcessPoolExecutor(WORKERS) as pool:
        results = list(pool.map(run_notebook, notebooks, [pages] * len(notebooks)))
    _write_list(notebooks, pages)
    return [problem for problem in results if problem is not None]


def run_notebook(source: Path, pages: Path) -> str | None:
    """Run one; return what went wrong, if anything did."""
    import jupytext
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    os.environ |= {"OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    started = time.monotonic()
    notebook = jupytext.read(source)
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            kernel_name="python3",
            extra_arguments=[f"--IPKernelApp.exec_lines={PLAIN_WARNINGS}"],
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute()
        except CellExecutionError as error:
            told = CONTROL.sub("", str(error)).strip().splitlines()
            return f"{source.name} failed: {' / '.join(told[-3:])}"
    page = pages / f"{source.stem}.md"
    page.write_text("\n".join(_page(notebook, page)), encoding="utf-8")
    print(f"{source.name}: {time.monotonic() - started:.0f} s", flush=True)
    return None


def _page(notebook: Any, page: Path) -> Iterator[str]:
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            yield from (cell.source, "")
            continue
        if cell.cell_type == "code":
            yield from _code(cell.source)
            for place, output in enumerate(_joined(cell.outputs)):
                yield from _shown(output, page, f"{number}_{place}")


def _joined(outputs: list[Any]) -> Iterator[Any]:
    """What was printed in pieces, in one: all of standard output, then all else."""
    streams: dict[str, Any] = {}
    for output in outputs:
        if output.output_type == "stream":
            first = streams.setdefault(output.name, output)
            if first is not output:
                first.text += output.text
    yield from (streams[name] for name in sorted(streams, reverse=True))
    yield from (output for output in outputs if output.output_type != "stream")


def _code(source: str) -> Iterator[str]:
    language, lines = "python", source.splitlines()
    if lines and lines[0].startswith("%%bash"):
        language, lines = "bash", lines[1:]
    yield from (f"```{language}", *lines, "```", "")


def _shown(output: Any, page: Path, name: str) -> Iterator[str]:
    if output.output_type == "stream":
        yield from _text(output.text)
        return
    data = output.get("data", {})
    if "image/png" in data:
        picture = page.with_name(f"{page.stem}_{name}.png")
        picture.write_bytes(base64.b64decode(data["image/png"]))
        yield from (f"![What the code above drew]({picture.name})", "")
    elif "text/html" in data:
        yield from (f'<div class="shown">{_one_line(data["text/html"])}</div>', "")
    elif "text/plain" in data:
        yield from _text(data["text/plain"])


def _text(text: str) -> Iterator[str]:
    """What a terminal would show: of a line that is written again and again, the last."""
    lines = [line.rstrip().split("\r")[-1] for line in CONTROL.sub("", text).split("\n")]
    shown = [line for line in lines if line] or [""]
    yield from ("```{.text .shown}", *shown, "```", "")


def _one_line(html: str) -> str:
    return " ".join(html.split())


def _write_list(notebooks: list[Path], pages: Path) -> None:
    lines = [
        "# Gallery",
        "",
        "Notebooks that were run when this site was built: what they print and draw is real.",
        "",
    ]
    for source in notebooks:
        title = re.search(r"^# # (.*)$", source.read_text(encoding="utf-8"), re.MULTILINE)
        lines.append(f"- [{title[1] if title else source.stem}]({source.stem}.md)")
    (pages / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")

"""Reading a file executes nothing: no code in `src/` could even if a file asked for it.

The syntax tree of every source file is searched for whatever turns data into code or objects, or
fetches either from elsewhere.
"""

import ast
from pathlib import Path

import pytest

import smore
import smore_paper

SOURCES = sorted(
    path for each in (smore, smore_paper) for path in Path(each.__file__).parent.rglob("*.py")
)

# Modules that run, rebuild or fetch what somebody else wrote.
MODULES = {
    "pickle", "_pickle", "cPickle", "pickletools", "cloudpickle", "dill", "joblib", "shelve",
    "marshal", "copyreg", "yaml", "ruamel", "code", "codeop", "runpy", "imp", "ctypes", "cffi",
    "pkgutil", "zipimport", "urllib", "http", "ftplib", "requests", "httpx", "aiohttp",
    "torch.hub", "torch.package", "torch.jit", "torch.serialization", "numpy.lib.format",
}  # fmt: skip
# Of the import machinery only what reads the version of a package is harmless.
HARMLESS = {"importlib.metadata"}
BUILTINS = {"eval", "exec", "compile", "__import__", "breakpoint"}
# Functions that read or write pickles, fetch models, or start a shell.
ATTRIBUTES = {
    f"{module}.{name}" for module in ("torch", "np", "numpy") for name in ("load", "save")
} | {
    "torch.hub", "torch.package", "torch.jit.load", "pd.eval", "pd.read_pickle", "os.system",
    "os.popen",
}  # fmt: skip
KEYWORDS = {"allow_pickle", "weights_only"}


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a chain of attributes, "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports, and the names it takes out of them."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def is_forbidden_module(name: str) -> bool:
    parts = name.split(".")
    heads = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
    return bool(heads & MODULES) or (parts[0] == "importlib" and not heads & HARMLESS)


def offences(tree: ast.AST) -> list[str]:
    """What in a syntax tree could execute, rebuild or fetch, with its line."""
    found = []
    safe = {id(node.func) for node in ast.walk(tree) if _loads_plain_arrays(node)}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        found += [
            f"line {line}: imports {name}"
            for name in imported(node)
            if is_forbidden_module(name) or name in ATTRIBUTES
        ]
        if isinstance(node, ast.Name) and node.id in BUILTINS:
            found.append(f"line {line}: {node.id}")
        if isinstance(node, ast.Attribute) and dotted(node) in ATTRIBUTES and id(node) not in safe:
            found.append(f"line {line}: {dotted(node)}")
        if isinstance(node, ast.Call):
            keywords = [] if _loads_plain_arrays(node) else node.keywords
            found += [f"line {line}: {kw.arg}=" for kw in keywords if kw.arg in KEYWORDS]
            if any(kw.arg == "shell" and not _is_false(kw.value) for kw in node.keywords):
                found.append(f"line {line}: a shell")
    return found


def _loads_plain_arrays(node: ast.AST) -> bool:
    """`np.load(path, allow_pickle=False)` to the letter, which refuses objects."""
    return (
        isinstance(node, ast.Call)
        and dotted(node.func) == "np.load"
        and len(node.args) == 1
        and [kw.arg for kw in node.keywords] == ["allow_pickle"]
        and _is_false(node.keywords[0].value)
    )


def _is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def test_there_are_sources():
    assert len(SOURCES) > 100


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_source_executes_what_it_reads(path):
    assert offences(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "import pickle as harmless",
        "from pickle import loads",
        "import os, dill.source",
        "from torch import load",
        "from numpy import load",
        "torch.load(path)",
        "reader = torch.load",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=asked)",
        "np.load(path, None, True, allow_pickle=False)",
        "np.load(path)",
        "numpy.load(path)",
        "eval('1')",
        "run = exec",
        "exec(text)",
        "compile(text, 'f', 'exec')",
        "__import__('pickle')",
        "import importlib",
        "from importlib import import_module",
        "yaml.load(text)\nimport yaml",
        "from torch.hub import load_state_dict_from_url",
        "torch.hub.load('a', 'b')",
        "subprocess.run(command, shell=True)",
        "subprocess.run(command, shell=asked)",
        "os.system(command)",
        "from os import system",
        "import urllib.request",
        "def f():\n    if True:\n        import marshal",
    ],
)
def test_it_would_be_found(code):
    assert offences(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "network.eval()",
        "json.loads(text)",
        "from importlib.metadata import version",
        "re.compile('a')",
        "subprocess.run(command)",
        "load_file(path)",
        "np.savetxt(path, table)",
    ],
)
def test_what_is_harmless_is_let_pass(code):
    assert offences(ast.parse(code)) == []

"""The house keeps its order: rooms are entered by their faces, and what is private says so.

Who may import whom is checked by `make lint` (the contract in pyproject.toml).
"""

import ast
from pathlib import Path

import smore
import smore_paper

SOURCES = [Path(each.__file__).parent for each in (smore, smore_paper)]
FILES = {
    ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for root in SOURCES
    for path in root.rglob("*.py")
}
# The command line has no face: whoever asks for one command must not load the others.
OPEN = "smore.cli"


def room(module: str) -> str:
    """smore.data of smore.data.blocks.block; all of the laboratory is one room."""
    parts = module.split(".")
    return parts[0] if parts[0] == "smore_paper" else ".".join(parts[:2])


def imports(module: str) -> list[str]:
    """The modules that a module imports from."""
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("smore"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            # A face may export a function of its module's name, and that is what one gets.
            exported = FILES[node.module].read_text(encoding="utf-8").partition("__all__")[2]
            found += [
                name if name in FILES and f'"{alias.name}"' not in exported else node.module
                for name, alias in zip(names, node.names, strict=True)
            ]
    return found


def test_other_rooms_are_entered_by_their_faces():
    past = [
        f"{module} imports {there}"
        for module in FILES
        for there in imports(module)
        if room(there) != room(module) and there != room(there) and room(there) != OPEN
    ]
    assert past == []


def test_a_private_module_is_imported_from_its_own_folder_only():
    for module in FILES:
        for there in imports(module):
            folder, name = there.rsplit(".", 1) if "." in there else ("", there)
            if name.startswith("_"):
                assert module == folder or module.rsplit(".", 1)[0] == folder, (module, there)


def test_a_module_that_no_other_folder_imports_is_private():
    used = {there for module in FILES for there in imports(module) if _outside(module, there)}
    public = [
        module
        for module, path in FILES.items()
        if module.startswith("smore.") and module.count(".") > 1 and room(module) != OPEN
        if not path.name.startswith("_")
    ]
    assert [module for module in public if module not in used] == []


def _outside(module: str, there: str) -> bool:
    """Whether an importing module is another folder's, or the face of this one."""
    is_face = FILES[module].name == "__init__.py"
    return is_face or module.rsplit(".", 1)[0] != there.rsplit(".", 1)[0]

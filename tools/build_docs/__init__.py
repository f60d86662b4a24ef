"""The site: pages, a gallery of notebooks that are run, and a reference from docstrings."""

from build_docs.code import check_code
from build_docs.commands import command_reference
from build_docs.gallery import run_notebooks
from build_docs.names import name_reference
from build_docs.pages import copy_pages

__all__ = [
    "check_code",
    "command_reference",
    "copy_pages",
    "name_reference",
    "run_notebooks",
]

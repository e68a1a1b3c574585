"""How large the packages are in thousands of tokens, and whether any has more than eval/notes/size.toml says.

Tokens are names, operators, numbers and strings without imports, docstrings and comments, so that denser
lines and shorter names change nothing; of pages (JavaScript, HTML, CSS), words and signs. Exit status: 0 none
has more, 1 one has.
"""

import argparse
import ast
import io
import re
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMITS = ROOT / "eval/notes/size.toml"
COUNTED = {tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
PAGES = {".js", ".html", ".css"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(args: argparse.Namespace) -> int:
    limits, is_over = tomllib.loads(LIMITS.read_text()), False
    for name, limit in limits.items():
        files = [path for folder in limit["folders"] for path in sorted((ROOT / folder).rglob("*"))]
        count = count_page if limit.get("pages") else count_python
        suffixes = PAGES if limit.get("pages") else {".py"}
        size = (
            sum(count(path.read_text(encoding="utf-8")) for path in files if path.suffix in suffixes) / 1000
        )
        is_over |= size > limit["most"]
        print(f"{name:18} {size:6.1f} thousand tokens, at most {limit['most']:.1f}")
    return int(is_over)


def count_python(source: str) -> int:
    """Count the tokens of a module.

    >>> count_python('import os\\n\\ndef f(x):\\n    "Add one."\\n    return x + 1  # more\\n')
    10
    """
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or 0) + 1))
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            left_out.update(range(first.lineno, (first.end_lineno or 0) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type in COUNTED and token.start[0] not in left_out for token in tokens)


def count_page(source: str) -> int:
    """Count the words and signs of a page.

    >>> count_page("if (a) b();")
    8
    """
    return len(re.findall(r"\w+|[^\w\s]", source))

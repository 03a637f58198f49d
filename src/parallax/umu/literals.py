"""Python literals and JSON inside the cells of the official files, without evaluating code."""

import ast
import json

from parallax.errors import DataError


def parse_literal(cell: object) -> object:
    """Return the value of a JSON text or, failing that, of a Python literal.

    JSON comes first, because forks write `null` and `NaN`, which are no Python literals. Inside
    one, as pandas and numpy print them, they are None.

    Raises:
        DataError: the cell is no text, is neither of the two, or a mapping in it repeats a key.
    """
    if not isinstance(cell, str):
        raise DataError(f"{cell!r} is no text; want a Python literal or JSON in a string")
    try:
        return json.loads(cell, object_pairs_hook=_unique)
    # ValueError: also numbers of thousands of digits, which Python refuses to read.
    except (ValueError, RecursionError):
        pass
    try:
        tree = ast.parse(cell.strip(), mode="eval")
        _refuse_repeats(tree)
        value: object = ast.literal_eval(_Gaps().visit(tree))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise DataError(f"{_shorten(cell)} is neither a Python literal nor JSON") from None
    return value


class _Gaps(ast.NodeTransformer):
    """Turns the names of missing values into None."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace one name; any other is left for literal_eval to refuse."""
        return ast.Constant(None) if node.id in ("nan", "NaN", "null") else node


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        raise DataError(f"key {max(keys, key=keys.count)!r} occurs twice")
    return mapping


def _refuse_repeats(tree: ast.Expression) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            seen = set[str]()
            for key in filter(None, node.keys):
                form = ast.dump(key)
                if form in seen:
                    raise DataError(f"key {ast.unparse(key)} occurs twice")
                seen.add(form)


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")

"""The errors for machines that the code raises."""

import ast

from tests.source_modules import modules


def raised_without_a_class() -> set[tuple[int, str]]:
    """The status and code of every error for machines that is made with either of them.

    `pushing` passes on the codes of the authorization endpoint.
    """
    found = set()
    for path in (path for _, path in modules() if path.name != "pushing.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name != "MachineError":
                continue
            assert isinstance(node, ast.Call)
            facts = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
            found.add((facts.get("status", 400), facts.get("error", "invalid_request")))
    return found

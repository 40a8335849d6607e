"""The plan of the house: imports go down, never up, never sideways between rooms of one floor."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tadge"


def plan() -> dict[str, int]:
    """Read the floors from docs/architecture.md: lines like `  walks/   4  ...` in its plan."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    block = re.search(r"```plan\n(.*?)```", text, re.S).group(1)
    floors = {}
    for line in block.splitlines():
        rooms, floor = re.match(r"\s*((?:[\w./]+\s+)+?)(\d+)\s{2}", line + "  ").groups()
        for room in rooms.split():
            floors[room.removesuffix(".py").rstrip("/")] = int(floor)
    return floors


FLOORS = plan()


def room_of(module: str) -> str:
    """Name the room that a module `tadge.x.y` lives in."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "tadge"}


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_every_room_is_on_the_plan_and_has_a_tenant():
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in MODULES} - {"__init__", "__main__"}
    assert rooms == set(FLOORS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room in ("__init__", "__main__"):
        return
    for name in imports(path):
        target = room_of(name)
        if target in FLOORS and target != room:
            assert FLOORS[target] < FLOORS[room], f"{room} (floor {FLOORS[room]}) imports {name}"


def test_walks_know_no_torch_and_the_network_no_numba():
    banned = {"walks": {"torch"}, "network": {"numba"}}
    for path in MODULES:
        room = path.relative_to(PACKAGE).parts[0]
        used = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module])
        }
        assert not used & banned.get(room, set()), path


def modules_of(path: Path) -> set[str]:
    """List the modules of the package that a file imports, those inside of functions too."""
    names = {f"tadge.{'.'.join(module.relative_to(PACKAGE).with_suffix('').parts)}" for module in MODULES}
    return {found for name in imports(path) for found in (name, name.rpartition(".")[0]) if found in names}


def test_no_module_leads_back_to_itself():
    uses = {f"tadge.{'.'.join(path.relative_to(PACKAGE).with_suffix('').parts)}": modules_of(path) for path in MODULES}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for used in sorted(uses[module]):
                visit(used, (*trail, module))
            done.add(module)

    for module in sorted(uses):
        visit(module, ())

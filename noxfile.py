"""Every check and every job of the repository. Plain `nox` runs what a change has to pass.

Interpreters come from `tools/interpreters.py`: what is not run because its Python is not on the machine is said aloud.
"""

import os
import sys
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from tools import interpreters  # noqa: E402  (found through the line above)

LAYERS = ("bytecode", "guards", "graph", "variables", "frontend")
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PLAN = interpreters.plan(interpreters.find())
FIRST = PLAN.rows[PLAN.first]
QUIET = {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": None,
    # uv compiles nothing when it installs: without files to keep it in, each process would compile torch again
    "PYTHONDONTWRITEBYTECODE": None,
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
}
WORKERS = ("-n", "2")
# a test that hangs fails, by name, instead of the whole run
LIMIT = ("--timeout", "900", "--timeout-method", "signal")

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["pythons", "lint", "types", "tests", "e2e", "wheels", "demo_short"]


def group(name: str) -> list[str]:
    """The requirements of a dependency group of the workspace."""
    return list(nox.project.dependency_groups(PROJECT, name))


def closure(layer: str) -> list[str]:
    """The layer and the layers it declares, directly or not, lowest first."""
    declared = tomllib.loads((ROOT / "packages" / layer / "pyproject.toml").read_text())["project"][
        "dependencies"
    ]
    named = {other for other in LAYERS if any(line.startswith(f"framesmith-{other}>") for line in declared)}
    return [other for other in LAYERS if other == layer or any(other in closure(below) for below in named)]


def torch_for(version: str) -> str:
    """The requirement that pins torch to the release tested with this Python."""
    return f"torch~={interpreters.SUPPORTED[version]}.0"


def install(session: nox.Session, layer: str, *requirements: str, extra: str = "") -> None:
    """Install one layer and what it declares, each from its folder, and the requirements; nothing else."""
    folders = [f"./packages/{name}{extra if name == layer else ''}" for name in closure(layer)]
    session.install(*(word for folder in folders for word in ("-e", folder)), *requirements)


def pytest(session: nox.Session, *paths: str) -> None:
    """Run pytest on the paths, or on what was given after `--`."""
    session.run("python", "-m", "pytest", *WORKERS, *LIMIT, *(session.posargs or paths), env=QUIET)


def warn_of_missing(session: nox.Session) -> None:
    """Say aloud what this machine cannot run."""
    if PLAN.warning:
        session.warn(f"{'*' * 20} {PLAN.warning} {'*' * 20}")


@nox.session(python=False)
def pythons(session: nox.Session) -> None:
    """Show the interpreters found; fail when there is none."""
    for version, path in PLAN.rows.items():
        session.log(f"Python {version} with torch {interpreters.SUPPORTED[version]}: {path}")
    warn_of_missing(session)
    missing = [version for version, path in PLAN.rows.items() if path == version]
    if missing:
        session.error(
            f"Python {', '.join(missing)} not found (looked on PATH, in pyenv, `py` and uv); install it"
        )


class Checks:
    """Commands of which each runs although an earlier one failed; `close` fails the session and names them."""

    def __init__(self, session: nox.Session) -> None:
        self.session = session
        self.failed: list[str] = []

    def run(self, *command: str, **environment: str | None) -> None:
        """Run one command, and remember whether it failed."""
        try:
            self.session.run(*command, env=QUIET | environment)
        except nox.command.CommandFailed:
            self.failed.append(" ".join(command))

    def close(self) -> None:
        """Fail the session if any command failed."""
        if self.failed:
            self.session.error("failed: " + "; ".join(self.failed))


@nox.session(python=FIRST)
def lint(session: nox.Session) -> None:
    """ruff, the import contracts, and the house rules with the tests of the tools."""
    session.install(*group("lint"))
    checks = Checks(session)
    checks.run("ruff", "check", "--output-format", "concise", ".")
    checks.run("ruff", "format", "--check", ".")
    checks.run(
        "lint-imports", "--no-cache", PYTHONPATH=os.pathsep.join(f"packages/{layer}/src" for layer in LAYERS)
    )
    checks.run("python", "-m", "pytest", "tests/layering", *session.posargs)
    checks.close()


@nox.session(python=FIRST)
def types(session: nox.Session) -> None:
    """mypy --strict of every package, or of the layers given, with only what each declares installed: `python dev.py types guards`.

    The packages stand on each other, so one environment grows from the lowest to the highest.
    """
    wanted = session.posargs or LAYERS
    for unknown in set(wanted).difference(LAYERS):
        session.error(f"there is no layer {unknown!r}; there are {', '.join(LAYERS)}")
    session.install(*group("types"))
    if session.virtualenv._reused:  # a reused environment holds the higher layers
        session.run("uv", "pip", "uninstall", *(f"framesmith-{layer}" for layer in LAYERS), external=True)
    checks = Checks(session)
    for layer in LAYERS:
        install(session, layer, *([] if layer == "bytecode" else [torch_for(PLAN.first)]))
        if layer not in wanted:
            continue
        versions = interpreters.SUPPORTED if layer == "bytecode" else {PLAN.first}
        for version in versions:  # tables for each Python live in bytecode only
            command = ("mypy", "--python-version", version, "-p", f"framesmith.{layer}")
            checks.run(*command, MYPYPATH=f"packages/{layer}/src")
    checks.close()


@nox.session
@nox.parametrize(
    "python,layer",
    [nox.param(path, "bytecode", id=f"bytecode-{version}") for version, path in PLAN.rows.items()]
    + [nox.param(FIRST, layer, id=f"{layer}-{PLAN.first}") for layer in LAYERS[1:]],
)
def tests(session: nox.Session, layer: str) -> None:
    """The tests of one package, with only that package and what it declares installed: `python dev.py tests guards`."""
    warn_of_missing(session)
    install(session, layer, *group("test"), *([] if layer == "bytecode" else [torch_for(PLAN.first)]))
    if layer == "bytecode":
        session.run(
            "python",
            "-c",
            "import importlib.util as u; assert not u.find_spec('torch'), 'torch is installed'",
        )
    pytest(session, f"packages/{layer}/tests")


EACH = [
    nox.param(path, version, id=f"py{version}-torch{interpreters.SUPPORTED[version]}")
    for version, path in PLAN.rows.items()
]
BESIDES = ("tests/quality", "tests/perturbation", "tests/signposts")


@nox.session
@nox.parametrize("python,version", EACH)
def e2e(session: nox.Session, version: str) -> None:
    """All five packages together: programs against eager, quality figures, signposts.

    Everything on the oldest Python, whose package tests `tests` runs; half of the programs, quality figures and the
    tests of the packages on torch on the newest; on those between, the other half (`interpreters.Plan.part`). Golden
    files everywhere.
    """
    oldest, newest = PLAN.ends
    units = [f"packages/{layer}/tests" for layer in LAYERS[1:]]
    besides = BESIDES if version == oldest else (*BESIDES[:1], *units) if version == newest else ()
    files = (ROOT / "tests" / "end_to_end").rglob("test_*.py")
    chosen = interpreters.part_of([path.relative_to(ROOT) for path in files], PLAN.part(version))
    _together(session, version, *map(str, chosen), *besides, "tests/golden")


@nox.session(name="all")
@nox.parametrize("python,version", EACH)
def everything(session: nox.Session, version: str) -> None:
    """All end-to-end tests and what `e2e` has besides, on each Python, with the tests of each package."""
    layers = (f"packages/{layer}/tests" for layer in LAYERS)
    _together(session, version, "tests/end_to_end", *BESIDES, "tests/golden", *layers)


def _together(session: nox.Session, version: str, *paths: str) -> None:
    warn_of_missing(session)
    install(session, "frontend", *group("test"), torch_for(version), extra="[demo]")
    pytest(session, *paths)


@nox.session(python=FIRST)
def build(session: nox.Session) -> None:
    """Build the five wheels and source archives into dist/."""
    session.install(*group("build"))
    for layer in LAYERS:
        with session.chdir(ROOT / "packages" / layer):
            session.run("python", "-m", "hatchling", "build", "-d", str(ROOT / "dist"), silent=True)


@nox.session(python=FIRST, requires=["build"])
def wheels(session: nox.Session) -> None:
    """Install the wheels in a clean environment, and run the code blocks of every README there."""
    session.install(
        torch_for(PLAN.first), *(str(path) for path in sorted((ROOT / "dist").glob("*-0.1.0-*.whl")))
    )
    session.run("framesmith", "version", env=QUIET)
    with session.chdir(session.create_tmp()):
        own = (ROOT / "README.md", ROOT / "docs" / "wrong-answers.md")
        pages = [*own, *(ROOT / "packages" / layer / "README.md" for layer in LAYERS)]
        session.run("python", str(ROOT / "tools" / "readme.py"), *map(str, pages), env=QUIET)


@nox.session(python=FIRST, reuse_venv=True)
def demo(session: nox.Session) -> None:
    """The main job, `framesmith demo` on real models: `python dev.py demo --only Llama`."""
    install(session, "frontend", torch_for(PLAN.first), extra="[demo]")
    session.run("framesmith", "demo", *session.posargs, env=QUIET | {"OMP_NUM_THREADS": None})


@nox.session(python=FIRST)
def demo_short(session: nox.Session) -> None:
    """Two programs of the demo, without what they cost: the README's first command works."""
    install(session, "frontend", torch_for(PLAN.first), extra="[demo]")
    programs = ("--only", "Llama", "--only", "loop with a break")
    session.run("framesmith", "demo", "--no-measure", *programs, env=QUIET | {"OMP_NUM_THREADS": None})


@nox.session(python=FIRST, reuse_venv=True)
def where(session: nox.Session) -> None:
    """Where something is handled: `python dev.py where list.append`."""
    look = "from importlib.util import find_spec; print(*map(find_spec, ('torch', 'numpy', 'framesmith.frontend')))"
    found = session.run("python", "-c", look, silent=True, success_codes=[0, 1])
    # the packages are installed as links to their sources: once is enough
    if not isinstance(found, str) or "ModuleSpec" not in found or "None" in found:
        install(session, "frontend", "numpy", torch_for(PLAN.first))  # without numpy, importing torch warns
    session.run("python", "-m", "framesmith.frontend.where", *session.posargs, env=QUIET)


@nox.session(python=FIRST, reuse_venv=True)
def bench(session: nox.Session) -> None:
    """Measure framesmith beside torch.compile in the same run: `python dev.py bench --only calls`."""
    install(session, "frontend", *group("bench"), torch_for(PLAN.first), extra="[demo]")
    session.run("python", "-m", "benchmarks", *session.posargs, env=QUIET)


@nox.session(python=FIRST, reuse_venv=True)
def cuda(session: nox.Session) -> None:
    """Programs on CUDA against eager, on a machine with a GPU; with a torch that is built for it."""
    install(session, "frontend", *group("test"), torch_for(PLAN.first))
    pytest(session, "tests/cuda")


@nox.session(reuse_venv=True)
@nox.parametrize("python,version", EACH)
def versions(session: nox.Session, version: str) -> None:
    """The figures that are set side by side for each Python: call overhead, trace time, first call."""
    install(session, "frontend", *group("bench"), torch_for(version), extra="[demo]")
    where = f"benchmarks/results/python-{version}.json"
    session.run("python", "-m", "benchmarks", "--only", "versions", "--json", where, env=QUIET)


@nox.session(python=FIRST, reuse_venv=True)
def fuzz(session: nox.Session) -> None:
    """Random programs for long: every test marked `fuzz`, with many examples."""
    install(session, "frontend", *group("test"), torch_for(PLAN.first), extra="[demo]")
    where = session.posargs or ["packages", "tests"]
    session.run(
        "python", "-m", "pytest", *WORKERS, "-m", "fuzz", "--hypothesis-profile", "fuzz", *where, env=QUIET
    )


@nox.session(reuse_venv=True)
@nox.parametrize("python,version", EACH)
def wild(session: nox.Session, version: str) -> None:
    """Random programs over wild values on each Python, by seed: `python dev.py wild --seeds 0:10000`."""
    install(session, "frontend", *group("test"), torch_for(version))
    session.run("python", "-m", "tests.end_to_end.fuzz.wild_runs", *session.posargs, env=QUIET)


@nox.session(reuse_venv=True)
@nox.parametrize("python,version", EACH)
def perturbation(session: nox.Session, version: str) -> None:
    """Change one thing at a time that a program can have read, and compare: `python dev.py perturbation --programs 1/4 --seed 2`."""
    install(session, "frontend", *group("test"), torch_for(version), extra="[demo]")
    session.run("python", "-m", "tests.perturbation", *session.posargs, env=QUIET)


@nox.session(reuse_venv=True)
@nox.parametrize("python,version", EACH)
def models(session: nox.Session, version: str) -> None:
    """Models of public packages against eager, torch.compile beside: `python dev.py models --only vision/ --half judge --no-peer`."""
    install(session, "frontend", *group("models"), torch_for(version))
    session.run("python", "-m", "tests.quality.model_runs", *session.posargs, env=QUIET)


@nox.session(python=FIRST, reuse_venv=True)
def operators(session: nox.Session) -> None:
    """Every operator and module of torch's own test databases against eager: `python dev.py operators --slice 1/4 --only NAME --samples 8`."""
    install(session, "frontend", *group("sweep"), torch_for(PLAN.first))
    session.run("python", "-m", "tests.sweeps.operators", *session.posargs, env=QUIET)


@nox.session(python=FIRST, reuse_venv=True)
def opinfo(session: nox.Session) -> None:
    """Every operator of torch's test database in one graph, beside torch.compile: `python dev.py opinfo --slice 1/8 --only NAME --samples 2`."""
    install(session, "frontend", *group("sweep"), torch_for(PLAN.first))
    session.run("python", "-m", "tests.sweeps.opinfo", *session.posargs, env=QUIET)


@nox.session(python=FIRST, reuse_venv=True)
def failing_operators(session: nox.Session) -> None:
    """Which operators raise on bad data, compared with the table in `graph.data_errors`: `python dev.py failing_operators --slice 1/4`."""
    install(session, "frontend", *group("sweep"), torch_for(PLAN.first))
    session.run("python", "-m", "tests.sweeps.data_errors", *session.posargs, env=QUIET)

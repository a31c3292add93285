"""`python -m tests.perturbation`: the full run, or a part of it; prints clusters of differences.

--programs 1/4   the first quarter of the programs      --only NAME      one program
--seed 3         another sample of the mutations        --limit 120      mutations of a program
--mutation TEXT  each mutation whose identifier has TEXT, alone
"""

import argparse
import re
import signal
import sys
import time
from collections import defaultdict

import torch
from tests.perturbation import runner
from tests.perturbation.corpus import Program, programs


def chosen(options: argparse.Namespace) -> list[Program]:
    """The programs that the options name."""
    if options.only:
        return [one for one in programs() if options.only in one.name]
    part, _, parts = options.programs.partition("/")
    return [one for index, one in enumerate(programs()) if index % int(parts) == int(part) % int(parts)]


def cluster(mutation: str, message: str) -> str:
    """Findings with the same key have, most likely, one cause."""
    if message.startswith("exception: traceback"):
        return "only the lines of the traceback"
    what = re.sub(r"\d+|'[^']*'", "N", mutation.rpartition(": ")[2])
    text = re.sub(r"\[[\d.,\s+\-einfa]*\]|\d+|'[^']*'|\"[^\"]*\"", "N", message.splitlines()[0])
    return f"{what} | {text[:110]}"


def show(results: list[runner.Result], seconds: float) -> int:
    """Print the clusters and the figures; the number of findings."""
    clusters: defaultdict[str, list[str]] = defaultdict(list)
    for result in results:
        for group, finding in result.findings:
            line = f"{result.program} {group} {finding.call}: {finding.message[:500]}"
            clusters[cluster(finding.mutation, finding.message)].append(line)
    for key, lines in sorted(clusters.items(), key=lambda item: -len(item[1])):
        print(f"\n## {len(lines)}x {key}")
        for line in lines[:3]:
            print(f"   {line}")
    calls, raised = sum(one.calls for one in results), sum(one.raised for one in results)
    found = sum(len(one.findings) for one in results)
    print(
        f"\n{len(results)} programs, {sum(one.mutations for one in results)} mutations, {calls} calls ({raised} raised), "
        f"{sum(one.graphs for one in results)} graphs, {found} differences in {len(clusters)} clusters, {seconds:.0f} s"
    )
    return found


def main() -> int:
    """Run what the command line says; 1 if there is a difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", default="1/1")
    parser.add_argument("--only")
    parser.add_argument("--mutation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quiet", action="store_true", help="no line for each program")
    options = parser.parse_args()
    torch.set_num_threads(1)
    results: list[runner.Result] = []
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        for result in runner.run_all(
            chosen(options),
            seed=options.seed,
            limit=options.limit,
            workers=options.workers,
            wanted=options.mutation,
        ):
            results.append(result)
            if not options.quiet:
                print(
                    f"{result.program}: {result.calls} calls, {len(result.findings)} differences",
                    file=sys.stderr,
                    flush=True,
                )
                for group, finding in result.findings:
                    print(f"   {group} {finding.call}: {finding.message[:400]}", file=sys.stderr, flush=True)
    except (KeyboardInterrupt, SystemExit):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        print("stopped before the end; so far:")
    return min(show(results, time.monotonic() - began), 1)


if __name__ == "__main__":
    sys.exit(main())

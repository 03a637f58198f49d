"""What every stage's command line has in common."""

import argparse
import contextlib
import fcntl
import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from parallax.errors import ParallaxError
from parallax.launching import launch, wants_launch
from parallax.params import Accelerate
from parallax.processes import is_launched, is_main


def run_stage(
    main: Callable[[argparse.Namespace], str],
    parser: argparse.ArgumentParser,
    processes: Callable[[argparse.Namespace], Accelerate] | None = None,
) -> None:
    """Parse the command line, run `main`, print its one-line summary; exit 1 on our own errors.

    A `ParallaxError` is printed as one line without a traceback; any other exception is a defect
    and keeps its traceback. Where `processes(args)` says that the stage is several processes, it
    is started again as these; all run `main`, and one of them speaks.
    """
    # How long a thread spins before it sleeps. OpenMP's own choice makes a training many times
    # slower as soon as another program wants a core; not to spin at all costs the second core's
    # gain (tests/benchmarks/threads.py). Read when torch is imported: no stage does before `main`.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    if not is_main():
        os.environ["TQDM_DISABLE"] = "1"  # read when tqdm is imported
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        args = parser.parse_args()
        if processes and not is_launched() and wants_launch(settings := processes(args)):
            launch(settings, f"parallax.stages.{Path(sys.argv[0]).stem}", sys.argv[1:])
            return
        summary = main(args)
    except ParallaxError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    if is_main():
        print(summary)


def add_overlay(parser: argparse.ArgumentParser) -> None:
    """Let a second pipeline run the stage with some parameters of its own."""
    parser.add_argument(
        "--overlay", type=Path, metavar="YAML", help="values in place of those of params.yaml"
    )


@contextlib.contextmanager
def hold(out: Path) -> Iterator[None]:
    """Hold the right to write `out` while the block runs.

    A killed `dvc` leaves its stage running; a second one beside it would write the same files. Of
    several processes of a stage the main one holds it.

    Raises:
        ParallaxError: another process holds it; the message says which.
    """
    if not is_main():
        yield
        return
    path = Path(".checkpoints") / "locks" / out.as_posix().replace("/", "-")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise ParallaxError(
                f"{out} is being written by process {lock.read().strip()}, perhaps left over from"
                " a killed dvc: wait for it, or stop it, then run again"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield

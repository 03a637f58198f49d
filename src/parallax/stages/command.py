"""What every stage's command line has in common."""

import argparse
import logging
import sys
from collections.abc import Callable

from parallax.errors import ParallaxError


def run_stage(main: Callable[[argparse.Namespace], str], parser: argparse.ArgumentParser) -> None:
    """Parse the command line, run `main`, print its one-line summary; exit 1 on our own errors.

    A `ParallaxError` is printed as one line without a traceback; any other exception is a defect
    and keeps its traceback.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        summary = main(parser.parse_args())
    except ParallaxError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    print(summary)

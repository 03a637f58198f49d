"""How long a waiting OpenMP thread should spin: training steps per second, alone and in company.

python tests/benchmarks/threads.py [--experiment data/experiment]

Each row is a setting in a process of its own, once on the machine as it is and once beside a
program that never waits. Run it on a machine that does nothing else.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SETTINGS = (
    {"OMP_NUM_THREADS": "1"},
    {"OMP_WAIT_POLICY": "PASSIVE"},
    {"GOMP_SPINCOUNT": "1000"},
    {"GOMP_SPINCOUNT": "5000"},
    {},
)
WARM = 10
STEPS = 40


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiment", type=Path, default=Path("data/experiment"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(f"{measure(args.experiment):.2f}")
        return
    for setting in SETTINGS:
        name = " ".join(f"{key}={value}" for key, value in setting.items()) or "OpenMP's default"
        alone = run(args.experiment, setting)
        with company():
            beside = run(args.experiment, setting)
        print(f"{name:28} {alone:5.2f} steps/s alone, {beside:5.2f} in company")


def run(experiment, setting):
    command = [sys.executable, __file__, "--child", "--experiment", str(experiment)]
    result = subprocess.run(
        command, env=os.environ | setting, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(result.stdout)


@contextlib.contextmanager
def company():
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


def measure(experiment):
    """Train the embedded base model for some steps, as stage `base` does, and time them."""
    import torch

    from parallax.files import read_table
    from parallax.instances import from_table
    from parallax.models import embedded
    from parallax.models.encoding import Encoder
    from parallax.models.families import FAMILIES
    from parallax.params import load_params
    from parallax.training.checkpoint import Checkpoints
    from parallax.training.engine import Engine
    from parallax.training.supervised import by_format, fit

    params = load_params()
    taught, later = (
        from_table(read_table(experiment / f"{name}.parquet")) for name in ("base", "sft")
    )
    portraits = read_table(experiment / "portraits.parquet")
    processor = embedded.build_processor(
        embedded.vocabulary_texts([*taught, *later]),
        params.embedded,
        *embedded.channel_statistics(portraits["portrait"]),
    )
    torch.manual_seed(params.base.seed)
    model = embedded.build_model(params.embedded, processor)
    encoder = Encoder(processor, FAMILIES["llava"], portraits)
    times = []

    def observe(row):
        times.append(time.perf_counter())
        if len(times) == WARM + STEPS:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        fit(
            Engine(model),
            by_format(encoder, taught, params.base.shares),
            params.base,
            encoder,
            Checkpoints(Path(folder)),
            observe,
            "base",
        )
    return STEPS / (times[-1] - times[WARM - 1])


if __name__ == "__main__":
    main()

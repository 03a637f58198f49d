"""Make the embedded model under test, SmolLM2-135M-Instruct, from the package that carries it."""

import argparse
from pathlib import Path

from parallax.stages.command import hold, run_stage


def main(args: argparse.Namespace) -> str:
    """Write the model in float32 safetensors, with its tokenizer."""
    from parallax.framing.smollm2 import convert_gguf, find_smollm2

    with hold(args.out):
        gguf = find_smollm2()
        convert_gguf(gguf, args.out)
    return f"subject: {gguf.name} -> {args.out}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    run_stage(main, parser)

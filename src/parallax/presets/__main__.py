"""Write a preset into params.yaml; comments and all other values stay as they are.

python -m parallax.presets NAME; --help lists the names
"""

import argparse
import io
import sys
from collections.abc import MutableMapping
from importlib import resources
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter

from parallax.errors import ParallaxError
from parallax.files import write_text
from parallax.params import load_params, parse_params

PARAMS = Path("params.yaml")


def main(argv: list[str] | None = None) -> str:
    """Write the preset and say which sections it set.

    Raises:
        ParamsError: params.yaml is missing, or is not usable before or after.
    """
    parser = argparse.ArgumentParser(prog="parallax.presets", description=__doc__.splitlines()[0])
    parser.add_argument("preset", choices=sorted(_presets()))
    name = parser.parse_args(argv).preset
    load_params(PARAMS)
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.preserve_quotes = True
    yaml.width = 100
    yaml.indent(mapping=2, sequence=4, offset=2)
    values = yaml.load(PARAMS.read_text(encoding="utf-8"))
    changes = yaml.load(_presets()[name])
    _merge(values, changes)
    stream = io.StringIO()
    yaml.dump(values, stream)
    parse_params(YAML(typ="safe").load(stream.getvalue()))
    write_text(PARAMS, stream.getvalue())
    return f"preset {name}: set {', '.join(changes)} in {PARAMS}; now run `dvc repro`"


class _Representer(RoundTripRepresenter):
    """Writes null as params.yaml does, and not as nothing."""

    def represent_null(self, data: None) -> ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:null", "null")


_Representer.add_representer(type(None), _Representer.represent_null)


def _presets() -> dict[str, str]:
    folder = resources.files("parallax.presets")
    return {
        file.name.removesuffix(".yaml"): file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if file.name.endswith(".yaml")
    }


def _merge(values: MutableMapping[str, Any], changes: MutableMapping[str, Any]) -> None:
    """Set every leaf of `changes` in `values`; a list is a leaf."""
    for key, value in changes.items():
        if isinstance(value, MutableMapping) and isinstance(values.get(key), MutableMapping):
            _merge(values[key], value)
        else:
            values[key] = value


if __name__ == "__main__":
    try:
        print(main())
    except ParallaxError as error:
        sys.exit(f"error: {error}")

import dataclasses

import pytest

from parallax.validation.suite import run_checks
from parallax.validation.umu import umu_checks, umu_frames

from .conftest import SIZES

"""Start a stage as several processes, as params.yaml or accelerate's config file says."""

import logging
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import ParallaxError, ParamsError
from parallax.params import Accelerate

if TYPE_CHECKING:
    from accelerate.commands.config.config_args import ClusterConfig

KINDS = ("MULTI_GPU", "MULTI_CPU", "FSDP", "DEEPSPEED")
# Which of several nodes this is; the config file is the same on all of them.
MACHINE_VARIABLE = "PARALLAX_MACHINE_RANK"


def wants_launch(settings: Accelerate) -> bool:
    """Say whether a stage is to be several processes."""
    return settings.config is not None or settings.processes > 1


def launch(settings: Accelerate, module: str, arguments: Sequence[str]) -> None:
    """Run `python -m module arguments` as several processes, and return when all have ended.

    If one fails the others are stopped.

    Raises:
        ParamsError: the settings or the config file are not usable here.
        ParallaxError: a process failed.
    """
    import torch
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    # What failed, its process says itself; torch would add forty lines.
    logging.getLogger("torch.distributed").setLevel(logging.CRITICAL)
    if not torch.cuda.is_available():
        os.environ["ACCELERATE_USE_CPU"] = "true"
    command = ["-m", module, *arguments]
    try:
        if settings.config is None:
            _launch_here(settings.processes, command)
        else:
            _launch_by_config(Path(settings.config), command)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise ParallaxError(
            f"process {rank} of {module} ended with status {failure.exitcode}; see its words above"
        ) from None
    except SignalException as signal:
        sys.exit(128 + signal.sigval)


def _launch_here(processes: int, command: Sequence[str]) -> None:
    import torch
    from torch.distributed.run import get_args_parser, run

    _check_devices(processes, f"accelerate.processes = {processes}")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, torch.get_num_threads() // processes)))
    place = ["--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", str(processes)]
    run(get_args_parser().parse_args([*place, *command]))


def _launch_by_config(file: Path, command: Sequence[str]) -> None:
    from accelerate.commands.launch import launch_command, launch_command_parser

    config = read_config(file)
    if config.distributed_type.value == "DEEPSPEED" and find_spec("deepspeed") is None:
        raise ParamsError(
            f"{file}: distributed_type = 'DEEPSPEED': the package is not installed; pip install"
            " deepspeed, or give a config of FSDP"
        )
    machine = os.environ.get(MACHINE_VARIABLE, str(config.machine_rank))
    if not machine.isdigit() or int(machine) >= config.num_machines:
        raise ParamsError(
            f"{MACHINE_VARIABLE} = {machine!r}: {file} has num_machines {config.num_machines};"
            f" give a number from 0 to {config.num_machines - 1}"
        )
    _check_devices(config.num_processes // config.num_machines, f"{file}: num_processes")
    flags = ["--config_file", str(file), "--machine_rank", machine]
    if config.distributed_type.value in ("MULTI_GPU", "MULTI_CPU"):
        flags.append("--multi_gpu")  # for processes on CPUs accelerate itself would take MPI
    if config.num_machines == 1 and config.main_process_port is None:
        flags += ["--main_process_port", "0"]
    launch_command(launch_command_parser().parse_args([*flags, *command]))


def read_config(file: Path) -> "ClusterConfig":
    """Read one of accelerate's config files, and check that the stages can do what it says.

    Raises:
        ParamsError: there is no such file, or a key or a value is not usable; the message names it.
    """
    import yaml
    from accelerate.commands.config.config_args import load_config_from_file

    try:
        config: ClusterConfig = load_config_from_file(str(file))
    except FileNotFoundError:
        raise ParamsError(f"accelerate.config = '{file}': no such file") from None
    except (ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise ParamsError(
            f"{file}: no config of accelerate ({' '.join(str(error).split())});"
            " docs/processes.md shows some"
        ) from None
    for key, value, allowed, usable in _findings(config):
        if not usable:
            raise ParamsError(f"{file}: {key} = {value!r}: {allowed}")
    return config


def _findings(config: "ClusterConfig") -> list[tuple[str, object, str, bool]]:
    """Return per key its value, what is allowed, and whether the value is."""
    kind = str(getattr(config.distributed_type, "value", config.distributed_type))
    fsdp, deepspeed = config.fsdp_config or {}, config.deepspeed_config or {}
    found: list[tuple[str, object, str, bool]] = [
        ("distributed_type", kind, f"choose of {', '.join(KINDS)}", kind in KINDS)
    ]
    if kind not in KINDS:
        return found
    precision, count, machines = config.mixed_precision, config.num_processes, config.num_machines
    found += [
        ("mixed_precision", precision, "give 'no': model.dtype decides", precision in (None, "no")),
        (
            "num_processes",
            count,
            f"give a multiple of num_machines, {machines}",
            count > 0 and count % machines == 0,
        ),
    ]
    if kind == "FSDP":
        wanted = (
            ("fsdp_version", 1, 2),  # with accelerate's default
            ("fsdp_auto_wrap_policy", "NO_WRAP", "TRANSFORMER_BASED_WRAP"),
            ("fsdp_cpu_ram_efficient_loading", True, False),
            ("fsdp_offload_params", False, False),
            ("fsdp_activation_checkpointing", False, False),
        )
        for key, default, want in wanted:
            value = fsdp.get(key, default)
            found.append((key, value, f"give {want}", value == want))
    if kind == "DEEPSPEED":
        stage, other = deepspeed.get("zero_stage", 2), deepspeed.get("deepspeed_config_file")
        device = deepspeed.get("offload_optimizer_device", "none")
        found += [
            ("zero_stage", stage, "give 1 or 2, or use FSDP", stage in (1, 2)),
            ("deepspeed_config_file", other, "write its settings here instead", other is None),
            ("offload_optimizer_device", device, "give none", device == "none"),
        ]
        launcher = deepspeed.get("deepspeed_multinode_launcher", "pdsh")
        if machines > 1:  # others start the processes in a way of their own
            wanted = launcher == "standard"
            found.append(("deepspeed_multinode_launcher", launcher, "give standard", wanted))
    return found


def _check_devices(processes: int, source: str) -> None:
    import torch

    if torch.cuda.is_available() and processes > torch.cuda.device_count():
        raise ParamsError(
            f"{source}: {processes} processes on this machine, which has"
            f" {torch.cuda.device_count()} GPUs: one process takes one"
        )

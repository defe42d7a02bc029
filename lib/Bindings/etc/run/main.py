"""The command `etcrun`."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from etc.torch_private import agent as torch_agent
from etc.run.addresses import Address, listening_port, own_host, read_endpoints
from etc.run.agent import EtcAgent
from etc.run.council import Rules
from etc.run.node import Settings

CONF = ("grace", "join_timeout", "last_call_timeout", "patience", "silence")


def main(arguments: list[str] | None = None) -> None:
    """Runs the workers of this node. Exits with 1 if all failed."""
    logging.basicConfig(format="etcrun: %(message)s")
    args = torch_agent.parse(arguments)
    try:
        config, entrypoint, script_args = torch_agent.configure(args)
        settings, grace = read_settings(args, config)
    except (ValueError, AssertionError) as error:
        sys.exit(f"etcrun: {error}")
    agent = EtcAgent(config, entrypoint, script_args, settings)
    agent.drain_within(grace)
    result = agent.run()
    if result is None or result.is_failed():
        sys.exit(1)


def read_settings(args: Any, config: Any) -> tuple[Settings, float]:
    """How agents meet, and how long a drain may take. Raises ValueError."""
    conf = torch_agent.parse_conf(args.rdzv_conf)
    for name in conf:
        if name not in CONF:
            raise ValueError(
                f"--rdzv-conf: {name} is none of {', '.join(CONF)}; etcrun does not "
                f"support torchrun's keys"
            )
    try:
        seconds = {name: float(value) for name, value in conf.items()}
    except ValueError:
        raise ValueError("--rdzv-conf: values are seconds") from None
    endpoints = endpoints_of(args, config)
    host = args.local_addr or own_host(endpoints)
    address = host, listening_port(host, endpoints)
    if endpoints[0] == (host, 0):
        endpoints[0] = address
    settings = Settings(
        endpoints=endpoints,
        address=address,
        token=os.environ.get("ETC_JOB_TOKEN") or f"id {args.rdzv_id}",
        rules=Rules(
            config.min_nodes,
            config.max_nodes,
            patience=seconds.get("patience", 60.0),
            last_call=seconds.get("last_call_timeout", 1.0),
        ),
        silence=seconds.get("silence", 10.0),
        join_timeout=seconds.get("join_timeout", 600.0),
    )
    return settings, seconds.get("grace", float("inf"))


def endpoints_of(args: Any, config: Any) -> list[Address]:
    """Where the agents meet; without an option, as torchrun has it: port 0 is any that
    is free. Raises ValueError."""
    if args.standalone or (config.max_nodes == 1 and not args.rdzv_endpoint):
        return [("127.0.0.1", 0)]
    return read_endpoints(
        args.rdzv_endpoint or f"{args.master_addr}:{args.master_port}"
    )

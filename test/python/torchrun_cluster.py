"""Agents of stock torchrun, in place of etcrun's: each death or arrival ends all workers, which begin at a checkpoint.

The rendezvous is a store of a process of its own, on a host that no event touches: an agent that kept it would take the
job along. Agents are forked from a process that has imported torch, and fork their workers, as etcrun's.
"""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import time
from typing import Any

import torch.distributed.checkpoint  # noqa: F401  (each worker would import it)
import torch.distributed.run
import torchrun_trainer
from etcrun_cluster import Cluster

TRAINER = str(pathlib.Path(torchrun_trainer.__file__))


class StockCluster(Cluster):
    """`network` has one more host than there are nodes, the store's."""

    agent_goes_on = True
    patience = 900.0

    def __init__(self, nodes: int, *args: Any, **more: Any) -> None:
        super().__init__(nodes, *args, **more)
        self.store_host = self.network.address(nodes) if self.network else "127.0.0.1"
        context = multiprocessing.get_context("fork")
        self.store = context.Process(target=self._serve, args=(nodes,), daemon=True)
        self.store.start()

    def _serve(self, node: int) -> None:
        if self.network:
            self.network.enter(node)
        store = torch.distributed.TCPStore(  # noqa: F841
            self.store_host, self.port, is_master=True, wait_for_workers=False
        )
        while True:
            time.sleep(60)

    def _run(self, node: int) -> None:
        os.environ["ETC_HOST"] = self.hosts[node]
        os.environ["GLOO_SOCKET_IFNAME"] = "eth0" if self.network else "lo"
        # A store of each round's own: in the shared one, a round finds addresses of the one before.
        os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
        torch.distributed.run.main(
            [
                f"--nproc-per-node={self.workers}",
                "--run-path",
                "--start-method=fork",
                "--rdzv-id=test",
                "--rdzv-backend=c10d",
                f"--rdzv-endpoint={self.store_host}:{self.port}",
                f"--local-addr={self.hosts[node]}",
                "--monitor-interval=0.1",
                *self.options,
                TRAINER,
                f"--out={self.out}",
                *self.script,
            ]
        )

    def stop(self) -> None:
        super().stop()
        self.store.kill()

"""Megatron-LM's pretrain_gpt.py, whose job changes its configuration while it trains.

    torchrun --nproc-per-node=4 pretrain_gpt_elastic.py --changes 2:TP2,4:PP2TP2 \\
        --active 2 --pipeline-model-parallel-size 2 ...

Everything else on the command line is Megatron's; its checkout is on PYTHONPATH. The first
two of the four processes train until step 2 ends, and so on.
"""

import argparse
import functools
import os
import sys

import etc.megatron
import torch.distributed as dist


def take_options():
    """Ours, taken off the command line, which Megatron reads again and again."""
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    parser.add_argument("--changes", default="")
    parser.add_argument("--active", type=int)
    ours, sys.argv[1:] = parser.parse_known_args()
    pairs = [change.split(":") for change in ours.changes.split(",") if change]
    return {int(step): curr for step, curr in pairs}, ours.active


def main():
    changes, active = take_options()
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])

    from gpt_builders import gpt_builder
    from megatron.core.enums import ModelType
    from megatron.training import pretrain
    from model_provider import model_provider
    from pretrain_gpt import (
        forward_step,
        get_embedding_ranks,
        train_valid_test_datasets_provider,
    )

    pretrain = etc.megatron.elastic(
        pretrain,
        changes.get,  # a real one asks the cluster: called with the step that was made
        store=dist.TCPStore(address, port, is_master=False),  # torchrun's
        cluster=f"1x{os.environ['WORLD_SIZE']}",
        active=active,
    )
    train_valid_test_datasets_provider.is_distributed = True
    pretrain(
        train_valid_test_datasets_provider,
        functools.partial(model_provider, gpt_builder),
        ModelType.encoder_or_decoder,
        forward_step,
        args_defaults={"tokenizer_type": "GPT2BPETokenizer"},
        get_embedding_ranks=get_embedding_ranks,
    )


main()

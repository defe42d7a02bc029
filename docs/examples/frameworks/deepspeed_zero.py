"""A job under DeepSpeed's ZeRO-2 goes on on more ranks, without a checkpoint.

    DS_ACCELERATOR=cpu torchrun --nproc-per-node=4 deepspeed_zero.py
"""

import deepspeed
import etc.torch
import torch
import torch.distributed as dist


class Groups:
    """The ranks of an engine, as DeepSpeed asks for them."""

    def __init__(self, ranks):
        self.data = dist.new_group(ranks)
        alone = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
        self.model = alone[dist.get_rank()]
        self.is_member = dist.get_rank() in ranks

    def get_data_parallel_group(self):
        return self.data

    def get_data_parallel_rank(self):
        return dist.get_rank(self.data)

    def get_data_parallel_world_size(self):
        return dist.get_world_size(self.data)

    def get_model_parallel_group(self):
        return self.model

    def get_model_parallel_rank(self):
        return 0

    def get_model_parallel_world_size(self):
        return 1


def build(groups):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(64, 250), torch.nn.ReLU(), torch.nn.Linear(250, 64)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.004)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.7)
    config = {"train_micro_batch_size_per_gpu": 32 // dist.get_world_size(groups.data)}
    config |= {"zero_optimization": {"stage": 2}, "zero_allow_untested_optimizer": True}
    return deepspeed.initialize(model=model, optimizer=optimizer, mpu=groups,
                                lr_scheduler=scheduler, config=config)[0]


def train(engine, steps, group):
    count = dist.get_world_size(group)
    for step in steps:
        batch = torch.randn(32, 64, generator=torch.Generator().manual_seed(1))
        batch = batch.chunk(count)[dist.get_rank(group)]
        loss = (engine(batch) - batch.flip(-1)).square().mean()
        engine.backward(loss)
        engine.step()
        loss = loss.detach().clone()
        dist.all_reduce(loss, group=group)
        if dist.get_rank() == 0:
            print(f"step {step}: loss {loss.item() / count:.4f}", flush=True)


deepspeed.init_distributed("gloo")
two, four = Groups([0, 1]), Groups([0, 1, 2, 3])
before = build(two) if two.is_member else None
if before:
    train(before, range(3), two.data)
after = build(four)
etc.torch.move(before, after)
train(after, range(3, 6), four.data)
dist.barrier()
dist.destroy_process_group()

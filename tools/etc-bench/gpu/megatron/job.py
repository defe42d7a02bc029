"""A small GPT that Megatron-Core trains, on GPUs or on the host."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import torch
import torch.distributed as dist
from megatron.core import num_microbatches_calculator as microbatches
from megatron.core import parallel_state
from megatron.core.distributed import (
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import (
    get_gpt_decoder_block_spec,
    get_gpt_mtp_block_spec,
)
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel import model_parallel_cuda_manual_seed
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_config import TransformerConfig


@dataclass
class Settings:
    """Sizes and switches. The model's dictionary overrides a TransformerConfig."""

    layers: int = 4
    hidden: int = 32
    heads: int = 4
    vocab: int = 128
    length: int = 16
    micro_batch: int = 2
    global_batch: int = 8
    bf16: bool = False
    tied: bool = True
    positions: str = "rope"
    distributed: bool = False
    clip: float = 1.0
    model: dict[str, Any] = field(default_factory=dict)
    ddp: dict[str, Any] = field(default_factory=dict)
    vocab_multiple: int = 0
    """Pads the vocabulary to a multiple of this x TP, unless it is 0."""


class Job:
    """Settings, and what trains by them on this process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.model: list[Any] = []
        self.optimizer: Any = None
        self.scheduler: Any = None
        self.iteration = self.consumed = 0
        self.losses: list[float] = []
        self.on_finish: Callable[[], Any] = lambda: None

    def start(self, sizes: dict[str, int]) -> None:
        """Groups, model and optimizer for the first configuration."""
        vpp = sizes.get("vpp", 1)
        parallel_state.initialize_model_parallel(
            sizes.get("tp", 1),
            sizes.get("pp", 1),
            virtual_pipeline_model_parallel_size=vpp if vpp > 1 else None,
            context_parallel_size=sizes.get("cp", 1),
            expert_model_parallel_size=sizes.get("ep", 1),
            expert_tensor_parallel_size=sizes.get("etp"),
            create_gloo_process_groups=False,
        )
        self.seed({})
        settings = self.settings
        self.model = [
            DistributedDataParallel(chunk.config, self.ddp_config(), self.cast(chunk))
            for chunk in self.chunks(vpp)
        ]
        self.optimizer = get_megatron_optimizer(
            OptimizerConfig(
                optimizer="adam",
                lr=1e-2,
                min_lr=1e-3,
                bf16=settings.bf16,
                clip_grad=settings.clip,
                use_distributed_optimizer=settings.distributed,
            ),
            self.model,
            use_gloo_process_groups=False,
        )
        self.scheduler = OptimizerParamScheduler(
            self.optimizer, 0.0, 1e-2, 1e-3, 3, 20, "cosine", 0.01, 0.01, 20, "constant"
        )
        microbatches.init_num_microbatches_calculator(
            dist.get_rank(),
            None,
            settings.global_batch,
            settings.micro_batch,
            parallel_state.get_data_parallel_world_size(),
        )
        self.wire()

    def seed(self, role: dict[str, int]) -> None:
        """The generators of this process's role, as Megatron does it."""
        seed = 1234 + 100 * parallel_state.get_pipeline_model_parallel_rank()
        torch.manual_seed(seed)
        model_parallel_cuda_manual_seed(seed)

    def cast(self, chunk: GPTModel) -> Any:
        """Between fp32 outside of the model and bf16 inside."""
        return Float16Module(chunk.config, chunk) if self.settings.bf16 else chunk

    def ddp_config(self) -> DistributedDataParallelConfig:
        settings = self.settings
        return DistributedDataParallelConfig(
            grad_reduce_in_fp32=True,
            use_distributed_optimizer=settings.distributed,
            **settings.ddp,
        )

    def chunks(self, vpp: int) -> Iterator[GPTModel]:
        for k in range(vpp):
            stage = k if vpp > 1 else None
            here = {"ignore_virtual": False, "vp_stage": k} if vpp > 1 else {}
            yield self.provide(
                parallel_state.is_pipeline_first_stage(**here),
                parallel_state.is_pipeline_last_stage(**here),
                stage,
            )

    def provide(
        self, pre_process: bool, post_process: bool, vp_stage: int | None = None
    ) -> GPTModel:
        """Megatron's model_provider."""
        settings, config = self.settings, self.config()
        options = {"use_transformer_engine": False, "vp_stage": vp_stage}
        spec = get_gpt_decoder_block_spec(config, **options)
        predicting = None
        if config.mtp_num_layers:
            predicting = get_gpt_mtp_block_spec(config, spec, **options)
        model = GPTModel(
            config,
            spec,
            vocab_size=self.padded_vocab(),
            max_sequence_length=settings.length,
            pre_process=pre_process,
            post_process=post_process,
            share_embeddings_and_output_weights=settings.tied,
            position_embedding_type=settings.positions,
            vp_stage=vp_stage,
            mtp_block_spec=predicting,
        )
        if torch.cuda.is_available():
            model.cuda()
        return model.bfloat16() if settings.bf16 else model

    def padded_vocab(self) -> int:
        settings = self.settings
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        unit = max(settings.vocab_multiple * ranks, 1)
        return -(-settings.vocab // unit) * unit

    def config(self) -> TransformerConfig:
        """For the configuration that parallel_state has."""
        settings, state = self.settings, parallel_state
        dtype = torch.bfloat16 if settings.bf16 else torch.float32
        given = dict(
            num_layers=settings.layers,
            hidden_size=settings.hidden,
            num_attention_heads=settings.heads,
            ffn_hidden_size=2 * settings.hidden,
            gated_linear_unit=True,
            add_bias_linear=False,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            params_dtype=dtype,
            pipeline_dtype=dtype,
            bf16=settings.bf16,
            use_cpu_initialization=True,
            bias_dropout_fusion=False,
            bias_activation_fusion=False,
            masked_softmax_fusion=False,
            gradient_accumulation_fusion=False,
            moe_token_dispatcher_type="allgather",  # Gloo can't deal out unequal parts
            moe_router_load_balancing_type="none",
        )
        sizes = dict(
            tensor_model_parallel_size=state.get_tensor_model_parallel_world_size(),
            pipeline_model_parallel_size=state.get_pipeline_model_parallel_world_size(),
            virtual_pipeline_model_parallel_size=(
                state.get_virtual_pipeline_model_parallel_world_size()
            ),
            context_parallel_size=state.get_context_parallel_world_size(),
            expert_model_parallel_size=state.get_expert_model_parallel_world_size(),
            expert_tensor_parallel_size=state.get_expert_tensor_parallel_world_size(),
        )
        return TransformerConfig(**{**given, **sizes, **settings.model})

    def wire(self) -> None:
        """What Megatron's training loop sets before its first step."""
        for chunk in self.model:
            config = chunk.config
            config.finalize_model_grads_func = finalize_model_grads
            if self.optimizer is not None:
                config.grad_scale_func = self.optimizer.scale_loss
            no_sync = [each.no_sync for each in self.model]
            config.no_sync_func = no_sync[0] if len(no_sync) == 1 else no_sync

    def take(self, trainer: Any) -> None:
        """Goes on with an etc.megatron.Trainer."""
        self.trainer = trainer
        self.model, self.optimizer = trainer.model, trainer.optimizer
        self.scheduler = trainer.opt_param_scheduler
        self.iteration, self.consumed = trainer.iteration, trainer.consumed_samples
        if trainer.role is not None:
            self.wire()

    def finish(self) -> None:
        """Before the first step after a change: what it deferred is there."""
        if self.optimizer is None:
            self.trainer.finish()
            self.optimizer = self.trainer.optimizer
            self.scheduler = self.trainer.opt_param_scheduler
            self.wire()
            self.on_finish()

    def train(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        for chunk in self.model:
            chunk.zero_grad_buffer()
        if self.optimizer is not None:
            self.optimizer.zero_grad()
        count = microbatches.get_num_microbatches()
        data = [self.batches(count) for _ in self.model]
        results = get_forward_backward_func()(
            forward_step_func=self.forward,
            data_iterator=data if len(data) > 1 else data[0],
            model=self.model,
            num_microbatches=count,
            seq_length=self.settings.length,
            micro_batch_size=self.settings.micro_batch,
            forward_only=False,
        )
        self.finish()
        self.optimizer.step()
        self.scheduler.step(self.increment())
        self.iteration += 1
        self.consumed += self.settings.global_batch
        self.losses.append(self.mean_loss(results))

    def increment(self) -> int:
        """By how many samples the schedule of the learning rate goes on."""
        return self.settings.global_batch

    def batches(self, count: int) -> Iterator[torch.Tensor]:
        """This replica's micro batches of the samples that come next."""
        settings = self.settings
        generator = torch.Generator().manual_seed(self.consumed)
        shape = (settings.global_batch, settings.length + 1)
        # Few tokens, so that there is something to learn at once.
        samples = torch.randint(0, 16, shape, generator=generator)
        ranks = parallel_state.get_data_parallel_world_size()
        rank = parallel_state.get_data_parallel_rank()
        mine = samples.view(count, ranks, settings.micro_batch, -1)[:, rank]
        return iter(mine.cuda() if torch.cuda.is_available() else mine)

    def forward(self, data: Iterator[torch.Tensor], model: Any) -> tuple[Any, Any]:
        samples = next(data)
        place = self.places().to(samples.device)
        mask = place[None] > place[:, None]
        words, labels = samples[:, place], samples[:, place + 1]
        output = model(words, place.expand_as(words), mask[None, None], labels=labels)

        def loss(losses: torch.Tensor) -> tuple[torch.Tensor, dict[str, Any]]:
            mean = losses.float().mean()
            return mean, {"loss": mean.detach().clone()}  # it is divided in place

        return output, loss

    def places(self) -> torch.Tensor:
        """The positions of this rank's tokens: with context parallelism, a chunk of the
        front and one of the back."""
        ranks = parallel_state.get_context_parallel_world_size()
        rank = parallel_state.get_context_parallel_rank()
        chunks = torch.arange(self.settings.length).chunk(2 * ranks)
        return torch.cat([chunks[rank], chunks[2 * ranks - 1 - rank]])

    def mean_loss(self, results: list[dict[str, torch.Tensor]]) -> float:
        """The loss of the global batch, on every rank."""
        ranks = parallel_state.get_data_parallel_world_size(with_context_parallel=True)
        memory = "cuda" if torch.cuda.is_available() else "cpu"
        total = torch.zeros(1, device=memory)
        if parallel_state.is_pipeline_last_stage():
            first = parallel_state.get_tensor_model_parallel_rank() == 0
            means = [each["loss"] for each in results] if first else []
            total += sum(means) / max(len(results), 1) / ranks
        dist.all_reduce(total)
        return total.item()

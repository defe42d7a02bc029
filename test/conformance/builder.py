"""Builds Megatron-Core's own modules for one rank of a layout, without GPUs.

Process groups are faked, so each rank is built in turn by one process.
"""

import warnings

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

# Megatron-Core allocates on the current device, which shall be the host.
torch.cuda.current_device = lambda: "cpu"
torch.Tensor.cuda = lambda tensor, *args, **kwargs: tensor
torch.cuda.Stream = lambda *args, **kwargs: None
tensor_on_device = torch.tensor
torch.tensor = lambda *args, device=None, **kwargs: tensor_on_device(
    *args, **kwargs)
# Its optimizer sorts parameters by the names of CUDA's tensor types.
type_of = torch.Tensor.type


def type_as_on_cuda(tensor, *args, **kwargs):
    name = type_of(tensor, *args, **kwargs)
    return name.replace("torch.", "torch.cuda.") if type(name) is str else name


torch.Tensor.type = type_as_on_cuda

warnings.filterwarnings("ignore")

from megatron.core import parallel_state  # noqa: E402
from megatron.core.distributed import (  # noqa: E402
    DistributedDataParallel,
    DistributedDataParallelConfig,
)
from megatron.core.models.backends import LocalSpecProvider  # noqa: E402
from megatron.core.models.gpt import GPTModel  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import (  # noqa: E402
    get_gpt_decoder_block_spec,
    get_gpt_mtp_block_spec,
)
from megatron.core.optimizer import (  # noqa: E402
    OptimizerConfig,
    get_megatron_optimizer,
)
from megatron.core.transformer import multi_latent_attention  # noqa: E402
from megatron.core.transformer.transformer_config import (  # noqa: E402
    MLATransformerConfig,
    TransformerConfig,
)


class CoreAttention(torch.nn.Module):
    """Stands for attention proper, which has no parameters; Megatron-Core's own
    runs neither context-parallel nor latent attention without GPUs."""

    def __init__(self, *args, **kwargs):
        super().__init__()


LocalSpecProvider.core_attention = lambda self: CoreAttention
# Asked for with isinstance(), and no type without Transformer Engine.
if not isinstance(multi_latent_attention.TELinear, type):
    multi_latent_attention.TELinear = CoreAttention
    multi_latent_attention.HAVE_TE = False


def enter(case, rank):
    """Makes this process a rank of the layout."""
    dist.init_process_group(
        "fake", store=FakeStore(), rank=rank, world_size=case.world)
    parallel_state.initialize_model_parallel(
        case.tp, case.pp,
        virtual_pipeline_model_parallel_size=case.vpp if case.vpp > 1 else None,
        context_parallel_size=case.cp,
        expert_model_parallel_size=case.ep,
        expert_tensor_parallel_size=case.etp or case.tp,
        order=case.order,
        create_gloo_process_groups=False)


def leave():
    parallel_state.destroy_model_parallel()
    dist.destroy_process_group()


def config_of(case):
    m = case.model
    arguments = dict(
        num_layers=m["layers"], hidden_size=m["hidden"],
        num_attention_heads=m["heads"],
        num_query_groups=m.get("kv_heads") or m["heads"],
        ffn_hidden_size=m["ffn"], kv_channels=m.get("head_dim"),
        add_bias_linear=m.get("linear_bias", False),
        add_qkv_bias=m.get("qkv_bias", False),
        gated_linear_unit=m.get("gated", False),
        qk_layernorm=m.get("qk_norm", False),
        normalization="LayerNorm" if m.get("norm_bias") else "RMSNorm",
        tensor_model_parallel_size=case.tp,
        pipeline_model_parallel_size=case.pp,
        virtual_pipeline_model_parallel_size=case.vpp if case.vpp > 1 else None,
        context_parallel_size=case.cp,
        expert_model_parallel_size=case.ep,
        expert_tensor_parallel_size=case.etp or case.tp,
        pipeline_dtype=torch.bfloat16, params_dtype=torch.bfloat16, bf16=True,
        use_cpu_initialization=True, moe_token_dispatcher_type="alltoall",
        num_layers_in_first_pipeline_stage=case.split.get("first_stage_layers"),
        num_layers_in_last_pipeline_stage=case.split.get("last_stage_layers"),
        account_for_embedding_in_pipeline_split=case.split.get(
            "account_for_embedding", False),
        account_for_loss_in_pipeline_split=case.split.get(
            "account_for_loss", False),
        pipeline_model_parallel_layout=case.split.get("pipeline_layout"),
        mtp_num_layers=m.get("mtp_layers"))
    if m.get("experts"):
        dense = m.get("dense_layers", 0)
        arguments.update(
            num_moe_experts=m["experts"], moe_ffn_hidden_size=m["expert_ffn"],
            moe_shared_expert_intermediate_size=m.get("shared_ffn"),
            moe_shared_expert_gate=m.get("shared_gate", False),
            moe_layer_freq=[0] * dense + [1] * (m["layers"] - dense),
            moe_router_enable_expert_bias=m.get("router_bias", False),
            moe_router_score_function=(
                "sigmoid" if m.get("router_bias") else "softmax"))
    if "kv_rank" not in m:
        return TransformerConfig(**arguments)
    return MLATransformerConfig(
        multi_latent_attention=True, q_lora_rank=m.get("q_rank") or None,
        kv_lora_rank=m["kv_rank"], qk_head_dim=m["nope_dim"],
        qk_pos_emb_head_dim=m["rope_dim"], v_head_dim=m["value_dim"],
        rope_type="rope", **arguments)


def predicts_further(config, case, rank_of_stage, k):
    """Whether Megatron has the layers of multi-token prediction in a chunk."""
    if not config.mtp_num_layers:
        return False
    layout = config.pipeline_model_parallel_layout
    if layout is None:
        return rank_of_stage == case.pp - 1 and k == case.vpp - 1
    return any(kind.name == "mtp" for kind in layout.layout[rank_of_stage][k])


def build(case):
    """The chunks of a rank's model, in Megatron's own modules."""
    config = config_of(case)
    p = parallel_state.get_pipeline_model_parallel_rank()
    chunks = []
    for k in range(case.vpp):
        stage = k if case.vpp > 1 else None
        spec = get_gpt_decoder_block_spec(
            config, use_transformer_engine=False, vp_stage=stage)
        mtp = None
        if predicts_further(config, case, p, k):
            # As pretrain_gpt.py does where a stage has no layer of its own.
            layers = spec
            if not spec.layer_specs:
                layers = get_gpt_decoder_block_spec(
                    config, use_transformer_engine=False, vp_stage=0, pp_rank=0)
            mtp = get_gpt_mtp_block_spec(
                config, layers, use_transformer_engine=False, vp_stage=stage)
        chunks.append(GPTModel(
            config, spec, vocab_size=case.padded_vocab,
            max_sequence_length=case.model.get("seq", 0) or 8,
            pre_process=p == 0 and k == 0,
            post_process=p == case.pp - 1 and k == case.vpp - 1,
            share_embeddings_and_output_weights=case.model["tied"],
            position_embedding_type=(
                "learned_absolute" if case.model.get("learned_positions")
                else "rope"),
            mtp_block_spec=mtp, vp_stage=stage))
        chunks[-1].bfloat16()
    return config, chunks


def optimizer_ranges(config, chunks, buckets):
    """The range of each parameter that this rank optimizes, as Megatron-Core's
    DistributedOptimizer has it once it is built."""
    wrapped = [
        DistributedDataParallel(
            config,
            DistributedDataParallelConfig(
                use_distributed_optimizer=True, grad_reduce_in_fp32=True,
                overlap_grad_reduce=buckets > 0,
                bucket_size=buckets or None),
            chunk, disable_bucketing=k > 0)
        for k, chunk in enumerate(chunks)]
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=1e-3, bf16=True,
                        use_distributed_optimizer=True),
        wrapped, use_gloo_process_groups=False)
    ranges = {}
    for part in optimizer.chained_optimizers:
        if part.is_stub_optimizer:
            continue
        for parameters, masters in zip(part.model_float16_groups,
                                       part.shard_fp32_from_float16_groups):
            for parameter, master in zip(parameters, masters):
                where = part._get_model_param_range_map(parameter)["param"]
                # The master copy is what the range says.
                assert master.numel() == where.end - where.start
                assert master.dtype == torch.float32
                ranges[parameter] = (where.start, where.end)
    return ranges


def expert_rank():
    return parallel_state.get_expert_tensor_parallel_rank()


def tensor_rank():
    return parallel_state.get_tensor_model_parallel_rank()


def first_local_expert(case):
    count = case.model.get("experts", 0) // case.ep
    return parallel_state.get_expert_model_parallel_rank() * count

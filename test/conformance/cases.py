"""The layouts that are compared with Megatron-Core: small models, all
dimensions, awkward sizes."""

from dataclasses import dataclass, field
import math


@dataclass
class Case:
    name: str
    model: dict
    pp: int = 1
    tp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 0
    vpp: int = 1
    order: str = "tp-cp-ep-dp-pp"
    split: dict = field(default_factory=dict)
    buckets: int = 0

    @property
    def world(self):
        return self.pp * self.tp * self.cp * self.dp

    @property
    def padded_vocab(self):
        multiple = 128 * self.tp
        return math.ceil(self.model["vocab"] / multiple) * multiple

    def request(self):
        """A request whose previous configuration is this layout."""
        side = {"pp": self.pp, "tp": self.tp, "dp": self.dp, "cp": self.cp,
                "ep": self.ep, "order": self.order,
                "distributed_optimizer": True, **self.split}
        if "pipeline_layout" not in self.split:
            side["vpp"] = self.vpp
        if self.etp:
            side["etp"] = self.etp
        if self.buckets:
            side["bucket_size"] = self.buckets
        return {"model": {**self.model, "fused_names": False,
                          "grouped_experts": False},
                "prev": side, "curr": side,
                "cluster": {"nodes": [self.world]}}


GPT = dict(family="gpt", layers=8, hidden=48, heads=6, ffn=102, vocab=301,
           seq=17, learned_positions=True, norm_bias=True, linear_bias=True,
           qkv_bias=True, tied=True)
LLAMA = dict(family="llama", layers=8, hidden=40, heads=8, kv_heads=4, ffn=56,
             vocab=259, gated=True, tied=False)
QWEN2 = dict(LLAMA, family="qwen2", kv_heads=2, qkv_bias=True, tied=True)
QWEN3 = dict(LLAMA, family="qwen3", head_dim=7, qk_norm=True)
MQA = dict(LLAMA, kv_heads=1, head_dim=2)
NEMOTRON = dict(LLAMA, family="nemotron", gated=False, norm_bias=True)
MIXTRAL = dict(family="mixtral", layers=4, hidden=24, heads=4, kv_heads=2,
               ffn=36, vocab=130, gated=True, tied=False, experts=6,
               expert_ffn=20)
QWEN3_MOE = dict(MIXTRAL, family="qwen3-moe", head_dim=10, qk_norm=True,
                 experts=8, dense_layers=1)
QWEN2_MOE = dict(MIXTRAL, family="qwen2-moe", qkv_bias=True, shared_ffn=28,
                 shared_gate=True)
DEEPSEEK = dict(family="deepseek-v3", layers=6, hidden=32, heads=4, ffn=44,
                vocab=300, gated=True, qk_norm=True, router_bias=True,
                tied=False, experts=8, expert_ffn=12, shared_ffn=12,
                dense_layers=2, q_rank=12, kv_rank=10, nope_dim=6, rope_dim=4,
                value_dim=6)
DEEPSEEK_MTP = dict(DEEPSEEK, mtp_layers=1)

CASES = [
    Case("gpt alone", GPT),
    Case("gpt TP2", GPT, tp=2),
    Case("gpt TP3DP5", GPT, tp=3, dp=5),
    Case("gpt PP2 tied", GPT, pp=2, dp=2),
    Case("gpt PP4TP2DP3", GPT, pp=4, tp=2, dp=3),
    Case("gpt untied PP2TP2", dict(GPT, tied=False), pp=2, tp=2),
    Case("gpt VPP2", GPT, pp=2, vpp=2, dp=2),
    Case("gpt VPP4 PP2TP2", GPT, pp=2, vpp=4, tp=2),
    Case("gpt CP2DP3", GPT, cp=2, dp=3),
    Case("gpt pp-dp PP2TP2DP2", GPT, pp=2, tp=2, dp=2,
         order="tp-cp-ep-pp-dp"),
    Case("gpt first 1 last 3", GPT, pp=4, dp=2,
         split={"first_stage_layers": 1, "last_stage_layers": 3}),
    Case("gpt first 2 of PP3", dict(GPT, layers=8), pp=3,
         split={"first_stage_layers": 2}),
    Case("gpt VPP2 first 2 last 2", GPT, pp=3, vpp=2,
         split={"first_stage_layers": 2, "last_stage_layers": 2}),
    Case("gpt accounting", dict(GPT, layers=6), pp=4, dp=2,
         split={"account_for_embedding": True, "account_for_loss": True}),
    Case("gpt VPP2 accounting", dict(GPT, layers=6), pp=2, vpp=2,
         split={"account_for_embedding": True, "account_for_loss": True}),
    Case("gpt empty ends by accounting", dict(GPT, layers=2), pp=4,
         split={"account_for_embedding": True, "account_for_loss": True}),
    Case("gpt layout with an empty stage", GPT, pp=4,
         split={"pipeline_layout": "Et|ttt||ttttL"}),
    Case("gpt layout VPP2", GPT, pp=2, vpp=2,
         split={"pipeline_layout": "E|t*3|(tt|)*1,tttL"}),
    Case("llama TP2DP3", LLAMA, tp=2, dp=3),
    Case("llama PP2TP4", LLAMA, pp=2, tp=4),
    Case("llama TP8, four query groups", LLAMA, tp=8),
    Case("llama MQA TP2", MQA, tp=2, dp=2),
    Case("llama PP8DP2", LLAMA, pp=8, dp=2),
    Case("qwen2 tied PP2TP2DP2", QWEN2, pp=2, tp=2, dp=2),
    Case("qwen3 TP4CP2", QWEN3, tp=4, cp=2),
    Case("nemotron PP2TP2DP3", NEMOTRON, pp=2, tp=2, dp=3),
    Case("mixtral EP2", MIXTRAL, ep=2, dp=2),
    Case("mixtral EP3 TP2", MIXTRAL, tp=2, dp=3, ep=3),
    Case("mixtral EP6 ETP1 TP2", MIXTRAL, tp=2, dp=3, ep=6, etp=1),
    Case("mixtral EP2 ETP1 TP2 DP4", MIXTRAL, tp=2, dp=4, ep=2, etp=1),
    Case("mixtral EP1 TP2", MIXTRAL, tp=2, dp=2),
    Case("mixtral ETP2 TP1 EP2", MIXTRAL, dp=4, ep=2, etp=2),
    Case("mixtral PP2VPP2 EP2 CP2", MIXTRAL, pp=2, vpp=2, ep=2, cp=2, dp=2),
    Case("mixtral pp-dp PP2TP2 EP2 CP2 ETP2", MIXTRAL, pp=2, tp=2, cp=2, dp=2,
         ep=2, order="tp-cp-ep-pp-dp"),
    Case("qwen3-moe PP2 EP4", QWEN3_MOE, pp=2, dp=4, ep=4),
    Case("qwen2-moe shared TP2 EP2", QWEN2_MOE, tp=2, dp=2, ep=2),
    Case("deepseek alone", DEEPSEEK),
    Case("deepseek TP2 EP4 PP2", DEEPSEEK, pp=2, tp=2, dp=4, ep=4, etp=1),
    Case("deepseek uncompressed queries", dict(DEEPSEEK, q_rank=0), tp=2, dp=2,
         ep=2),
    Case("deepseek MTP alone", DEEPSEEK_MTP, dp=2),
    Case("deepseek MTP PP2 EP2", DEEPSEEK_MTP, pp=2, dp=2, ep=2),
    Case("deepseek MTP VPP3 TP2", DEEPSEEK_MTP, pp=2, vpp=3, tp=2),
    Case("deepseek MTP before the loss", DEEPSEEK_MTP, pp=4, dp=2, ep=2,
         split={"pipeline_layout": "Ettt|ttt|m|L"}),
    Case("gpt buckets DP3", GPT, dp=3, buckets=20000),
    Case("gpt tied buckets PP2VPP2DP2", GPT, pp=2, vpp=2, dp=2, buckets=5000),
    Case("llama a bucket a parameter TP2DP5", LLAMA, tp=2, dp=5, buckets=1),
    Case("mixtral buckets PP2 EP2 TP2", MIXTRAL, pp=2, tp=2, dp=4, ep=2,
         buckets=4000),
    Case("deepseek buckets MTP DP4 EP4 CP2", DEEPSEEK_MTP, dp=2, cp=2, ep=4,
         buckets=10000),
]

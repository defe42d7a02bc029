"""Megatron-Core's modules and optimizers, as ETC sees them. Needs megatron-core."""

from etc.megatron.describe import describe_live

__all__ = ["describe_live"]

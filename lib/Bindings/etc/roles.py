"""Positions in a hybrid-parallel grid."""

from __future__ import annotations

Role = dict[str, int]
"""{"pp": 0, "tp": 1, "dp": 0, "cp": 0, "rank": 1}; of an inventory, which has no grid,
"rank" alone."""

"""Environments for reinforcement learning.

- An agent replaces a discipline or sets its parameters: ``forebay/AqmControl-v0``, `AqmControl`, `AqmVectorEnv`.
- Agents set the windows or rates of TCP senders: ``forebay/CongestionControl-v0``, `CongestionEnv`,
  `CongestionVectorEnv`; `forebay.gym.parallel` for PettingZoo.

``import forebay.gym`` registers both for ``gymnasium.make`` and ``gymnasium.make_vec``. The vector environments step many
simulations in one call on all cores.
"""

import gymnasium

from forebay.gym._base import Reward
from forebay.gym.queues import OBSERVATION, AqmControl, AqmVectorEnv, Power
from forebay.gym.senders import CongestionEnv, CongestionVectorEnv, Utility, path

__all__ = [
    "CONGESTION",
    "ID",
    "OBSERVATION",
    "AqmControl",
    "AqmVectorEnv",
    "CongestionEnv",
    "CongestionVectorEnv",
    "Power",
    "Reward",
    "Utility",
    "path",
]

ID = "forebay/AqmControl-v0"
CONGESTION = "forebay/CongestionControl-v0"

gymnasium.register(ID, entry_point="forebay.gym:AqmControl", vector_entry_point="forebay.gym:AqmVectorEnv")
gymnasium.register(
    CONGESTION, entry_point="forebay.gym:CongestionEnv", vector_entry_point="forebay.gym:CongestionVectorEnv"
)

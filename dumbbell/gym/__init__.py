"""Learning environments: an experiment file is the world, its flows are agents.

Needs the extra `gym`. Import it, then
`gymnasium.make("dumbbell/Congestion-v0", experiment="file.yaml", agent="flow1")`.

- `catalogue`: what agents can see, set and be rewarded by
- `choices`: what a user chose of it, and how long a step is
- `episodes`: scenarios of an experiment file, drawn by seed
- `worlds`: many worlds behind one call, with arrays of NumPy
- `policy`, `onnx`: policies that have learnt, as files
- `export`: such a policy as C for a kernel
- `single`, `vector`, `parallel`: Gymnasium's `Env` and `VectorEnv`, PettingZoo's `ParallelEnv`
"""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError

try:
    import gymnasium
    import pettingzoo  # noqa: F401
except ImportError:
    raise DumbbellError(
        "learning environments need gymnasium and pettingzoo: pip install 'dumbbell-lab[gym]'",
        code=Code.NOT_INSTALLED,
    ) from None

from dumbbell.gym.catalogue import ACTIONS, OBSERVATIONS, REWARDS
from dumbbell.gym.choices import Choices
from dumbbell.gym.onnx import Dense
from dumbbell.gym.parallel import CongestionParallelEnv
from dumbbell.gym.policy import load_policy, save_policy
from dumbbell.gym.single import CongestionEnv
from dumbbell.gym.vector import CongestionVectorEnv

__all__ = [
    "ACTIONS",
    "ID",
    "OBSERVATIONS",
    "REWARDS",
    "Choices",
    "CongestionEnv",
    "CongestionParallelEnv",
    "CongestionVectorEnv",
    "Dense",
    "load_policy",
    "save_policy",
]

#: Name of the environment in Gymnasium.
ID = "dumbbell/Congestion-v0"

if ID not in gymnasium.registry:
    gymnasium.register(
        ID,
        entry_point="dumbbell.gym.single:CongestionEnv",
        vector_entry_point="dumbbell.gym.vector:CongestionVectorEnv",
    )

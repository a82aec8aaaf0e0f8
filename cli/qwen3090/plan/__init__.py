"""The memory plan: what fits into the KV-cache pool, exactly as the engine will compute it.

Pure arithmetic on settings and a model's geometry; imports neither torch nor vLLM.
"""

from qwen3090.plan.geometry import Drafter, Geometry
from qwen3090.plan.inputs import PlanInput
from qwen3090.plan.model import Plan, compute
from qwen3090.plan.problems import Problem

__all__ = ["Drafter", "Geometry", "Plan", "PlanInput", "Problem", "compute"]

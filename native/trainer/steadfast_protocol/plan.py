"""How one update is computed: `UpdatePlan` of core/trainer.ts, read strictly."""

from dataclasses import dataclass

from .faults import TrainerFault

#: Numbers that every plan has, and the least of each.
_NUMBERS = (("learningRate", 0), ("weightDecay", 0), ("clip", 0), ("dualClip", 1), ("maxGradNorm", 0))


@dataclass(frozen=True)
class MismatchBound:
    """Sampler against trainer on the sampled tokens: beyond either number the update is refused."""

    #: Mean of |trainer - sampler|, nats a token.
    mean_above: float
    #: Share of tokens whose ratio lies outside [0.9, 1.1].
    share_above: float


@dataclass(frozen=True)
class Plan:
    learning_rate: float
    weight_decay: float
    clip: float
    dual_clip: float
    max_grad_norm: float
    #: Truncated importance weights with this cap; None: every token counts alike.
    importance_cap: float | None = None
    mismatch: MismatchBound | None = None

    @classmethod
    def parse(cls, plan: object) -> "Plan":
        """Raises `bad_request` naming the field."""
        if not isinstance(plan, dict):
            raise TrainerFault("bad_request", f"plan: expected an object, found {type(plan).__name__}")
        if plan.get("normalisation") != "token-mean":
            raise TrainerFault(
                "bad_request", f"plan.normalisation: expected token-mean, found {plan.get('normalisation')}"
            )
        numbers = (_number(plan.get(name), f"plan.{name}", least) for name, least in _NUMBERS)
        return cls(*numbers, _importance_cap(plan.get("importance")), _bound(plan.get("mismatch")))


def _importance_cap(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, dict) or value.get("kind") != "truncated":
        raise TrainerFault(
            "bad_request", f"plan.importance: expected kind truncated and a cap, found {value!r}"
        )
    cap = _number(value.get("cap"), "plan.importance.cap", 0)
    if cap == 0:
        raise TrainerFault("bad_request", "plan.importance.cap: expected a number above 0, found 0")
    return cap


def _bound(value: object) -> MismatchBound | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise TrainerFault(
            "bad_request", f"plan.mismatch: expected meanAbove and shareAbove, found {value!r}"
        )
    return MismatchBound(
        *(_number(value.get(name), f"plan.mismatch.{name}", 0) for name in ("meanAbove", "shareAbove"))
    )


def _number(value: object, place: str, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value < 1e9:
        raise TrainerFault("bad_request", f"{place}: expected a number from {least}, found {value!r}")
    return float(value)

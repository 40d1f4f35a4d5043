"""Rewriting of the headers that ECN uses, in an experiment file."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dumbbell.codes import Code
from dumbbell.experiment.fields import Name, Strict, as_list, choice, problem, whole_number

#: Actions of a rewrite.
ACTIONS = ("ecn", "clear_flags", "set_flags", "strip_option")

MAX_REWRITES = 1000
Nth = Annotated[int, whole_number(1, 2**53)]
EcnField = Annotated[str, choice("not_ect", "ect1", "ect0", "ce", what="ECN field")]
_FLAG = choice("ece", "cwr", "ae", what="TCP flag")
Flags = Annotated[
    list[Annotated[str, _FLAG]],
    as_list({"type": "string", "enum": ["ece", "cwr", "ae"]}),
    Field(min_length=1),
]
Option = Annotated[str, choice("accecn", what="TCP option")]


class RewriteSpec(Strict):
    """Change of the headers of packets that enter a link."""

    flow: Name | None = None
    nth: Annotated[list[Nth], as_list({"type": "integer"}), Field(min_length=1)] | None = None
    ecn: EcnField | None = None
    clear_flags: Flags | None = None
    set_flags: Flags | None = None
    strip_option: Option | None = None

    @model_validator(mode="after")
    def _acts(self) -> Self:
        if all(getattr(self, name) is None for name in ACTIONS):
            raise problem("changes nothing", allowed=ACTIONS, code=Code.MISSING_FIELD)
        if self.nth is not None and self.flow is None:
            raise problem(
                "numbers count the packets of a flow: flow is needed",
                field="nth",
                code=Code.MISSING_FIELD,
            )
        both = set(self.clear_flags or ()) & set(self.set_flags or ())
        if both:
            raise problem(
                "a flag that is cleared, too",
                field="set_flags",
                found=", ".join(sorted(both)),
                code=Code.ONE_OF,
            )
        return self

    def scenario(self) -> dict[str, Any]:
        """Rewrite in the form of the scenario."""
        return {
            "flow": self.flow,
            "nth": self.nth or [],
            "ecn": self.ecn,
            "clear_flags": self.clear_flags or [],
            "set_flags": self.set_flags or [],
            "strip_accecn": self.strip_option is not None,
        }


Rewrites = Annotated[list[RewriteSpec], Field(max_length=MAX_REWRITES)]

# SPDX-License-Identifier: MIT
"""What is compared with what."""

import dataclasses


@dataclasses.dataclass
class Goal:
    """What `who ÷ against` is to be: at least so much, or at most."""
    who: str
    against: str
    least: float | None = None
    stretch: float | None = None
    most: float | None = None

    def text(self):
        if self.most is not None:
            return f"≤ {self.most:g}"
        return "" if self.least is None else f"≥ {self.least:g}" + (f" ({self.stretch:g})" if self.stretch else "")


@dataclasses.dataclass
class Scenario:
    """Contestants by name, each a function that gives a figure. Without goals all are compared to the first.

    Where a run gives several figures, `more` has the units of the others by name: a contestant then gives a list. Only
    the first figure is compared.
    """
    name: str
    contestants: dict
    goals: list = dataclasses.field(default_factory=list)
    unit: str = "items/s"
    more: dict = dataclasses.field(default_factory=dict)

    def pairs(self):
        first, *others = self.contestants
        return self.goals or [Goal(who, first) for who in others]

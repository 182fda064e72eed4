"""The outcome of a case."""

import dataclasses

GOOD = ("right", "refused", "declined", "void")


@dataclasses.dataclass
class Verdict:
    """The outcome of a case.

    Attributes:
      kind: "right"; "refused", as coupled rows must be; "declined", as captured sizes may be;
        "void" if all numbers are infinite or TensorFlow fails too. Or a failure: "wrong",
        "raised", "accepted", "died", "hung", "fault" (an error of the fuzzer itself).
      where: What differs, or the kind of error: equal for cases that fail for the same reason.
      text: A description for people.
      compared: The number of tensors that were compared.
      vague: The number of those whose tolerance is above a tenth of their largest number.
    """

    kind: str
    where: str = ""
    text: str = ""
    compared: int = 0
    vague: int = 0

    @property
    def ok(self) -> bool:
        return self.kind in GOOD

    def same_failure(self, other) -> bool:
        return (self.kind, self.where) == (other.kind, other.where)

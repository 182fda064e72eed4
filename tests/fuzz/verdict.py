"""What became of a case."""

import dataclasses

GOOD = ("right", "refused", "declined", "void")


@dataclasses.dataclass
class Verdict:
    """What became of a case.

    Attributes:
      kind: "right"; "refused", as coupled rows must be; "declined", as sizes that are captured may
        be; "void": nothing to compare, all of it being infinite, or TensorFlow failing
        too. Or a failure: "wrong", "raised", "accepted", "died", "hung", "fault" (of
        the fuzzer itself).
      where: What differs, or which error: the same for cases that fail for the same reason.
      text: For people.
      compared, vague: Tensors; those whose tolerance is above a tenth of their largest number.
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

"""What became of a case."""

import dataclasses


@dataclasses.dataclass
class Verdict:
    """What became of a case.

    Attributes:
      kind: "right", "void" (nothing to compare, all of it being infinite), "refused" (as it should
        be), or a failure: "wrong", "raised", "accepted", "died", "hung", "fault" (of
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
        return self.kind in ("right", "void", "refused")

    def same_failure(self, other) -> bool:
        return (self.kind, self.where) == (other.kind, other.where)

"""The types of what blocks take and make."""

import dataclasses

# What the native evaluator has room for.
_MAX_WIDTH = 16


@dataclasses.dataclass(frozen=True)
class ObjectType:
    """An example, or a part of it: what the fields of objects are."""

    width = 1


@dataclasses.dataclass(frozen=True)
class TensorType:
    """A tensor for every vertex; those of one type are rows of one tensor.

    Attributes:
      shape: Of one.
      dtype: Its name.
    """

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    width = 1

    @property
    def carried(self) -> "TensorType":
        """The type of what is passed on from depth to depth."""
        return self


@dataclasses.dataclass(frozen=True)
class RowType:
    """A row of a table, of which the number is passed on; whoever takes it looks it up.

    Attributes:
      table: Number of the table.
      row: The type of its rows.
    """

    table: int
    row: TensorType
    width = 1
    carried = TensorType((), "int32")


@dataclasses.dataclass(frozen=True)
class TupleType:
    """Several values.

    Raises:
      ValueError: If they are too many.
    """

    items: tuple

    def __post_init__(self):
        if self.width > _MAX_WIDTH:
            raise ValueError(
                f"tuple: got {self.width} values but expected at most {_MAX_WIDTH}. "
                "Put values of one type into a sequence."
            )

    @property
    def width(self) -> int:
        return sum(item.width for item in self.items)


@dataclasses.dataclass(frozen=True)
class SequenceType:
    """Any number of values of one type."""

    item: object
    width = 2


VOID = TupleType(())


def type_of(spec):
    """A type, or a nest of tuples of types, as one type."""
    return TupleType(tuple(map(type_of, spec))) if isinstance(spec, tuple) else spec


def tensors_in(kind) -> list:
    """The tensors and rows in a type without sequences, from left to right.

    Raises:
      TypeError: If there is something else in it.
    """
    if isinstance(kind, TupleType):
        return [tensor for item in kind.items for tensor in tensors_in(item)]
    if isinstance(kind, TensorType | RowType):
        return [kind]
    raise TypeError(f"got {kind} but expected tensors, or tuples of them")


def pack(kind, values: list):
    """The reverse of `tensors_in`: nested tuples of the values."""
    rest = iter(values)

    def build(part):
        return tuple(map(build, part.items)) if isinstance(part, TupleType) else next(rest)

    return build(kind)

"""The types of the inputs and results of blocks."""

import dataclasses

# The most ints of a value for which the native evaluator has room.
_MAX_WIDTH = 16


@dataclasses.dataclass(frozen=True)
class ObjectType:
    """An example, or an object inside of it, with fields."""

    width = 1


@dataclasses.dataclass(frozen=True)
class TensorType:
    """A tensor for every vertex. All tensors of a type are rows of one tensor.

    Attributes:
      shape: The shape of one tensor.
      dtype: The name of its type.
    """

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    width = 1

    @property
    def carried(self) -> "TensorType":
        """The type of the value that is passed from depth to depth."""
        return self


@dataclasses.dataclass(frozen=True)
class RowType:
    """A row of a table. Its number is passed on, and the operation that takes it looks it up.

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
    """A tuple of values.

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
    """A type, from a type or a nest of tuples of types."""
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
    """Packs values into nested tuples; the inverse of `tensors_in`."""
    rest = iter(values)

    def build(part):
        return tuple(map(build, part.items)) if isinstance(part, TupleType) else next(rest)

    return build(kind)

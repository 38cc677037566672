"""Arrow types of annotated Python values: the columns of a table are those of the class of its rows."""

import types
import typing
from collections.abc import Sequence
from enum import StrEnum
from typing import Any


def arrow_fields(record: type) -> list[Any]:
    """Return a pyarrow.Field for each field of a msgspec.Struct, NamedTuple or dataclass, in order. All are nullable."""
    import pyarrow as pa

    return [pa.field(name, arrow_type(annotation)) for name, annotation in typing.get_type_hints(record).items()]


def arrow_type(annotation: Any) -> Any:
    """Return the pyarrow.DataType of values with this annotation: `X | None` has the type of X, a record is a struct.

    Raises: TypeError: there is no such type.
    """
    import pyarrow as pa

    scalars = {int: pa.int64(), str: pa.string(), bool: pa.bool_(), bytes: pa.binary()}
    if isinstance(annotation, types.UnionType):
        (annotation,) = (each for each in typing.get_args(annotation) if each is not types.NoneType)
    if annotation in scalars:
        return scalars[annotation]
    if typing.get_origin(annotation) in (Sequence, tuple, frozenset):
        return pa.list_(arrow_type(typing.get_args(annotation)[0]))
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return pa.string()
    if fields := arrow_fields(annotation):
        return pa.struct(fields)
    raise TypeError(f"no Arrow type is known for {annotation}")

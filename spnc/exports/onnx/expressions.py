"""Expressions over arrays that become nodes of an ONNX graph, written like those of NumPy.

Everything is a double, a truth value or an index. Plain numbers and NumPy arrays in an expression
become constants; equal constants are stored once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET = 18  # 2022; every runtime of the last years reads it
IR_VERSION = 8  # of the same time
_Value = Any  # a Tensor, an array or a number


class Tensor:
    """The result of a node."""

    def __init__(self, made: Expressions, name: str) -> None:
        self.made, self.name = made, name

    def _with(self, operator: str, *others: _Value) -> Tensor:
        return self.made.node(operator, self, *others)

    def __add__(self, other: _Value) -> Tensor:
        return self._with("Add", other)

    def __sub__(self, other: _Value) -> Tensor:
        return self._with("Sub", other)

    def __mul__(self, other: _Value) -> Tensor:
        return self._with("Mul", other)

    def __truediv__(self, other: _Value) -> Tensor:
        return self._with("Div", other)

    def __lt__(self, other: _Value) -> Tensor:
        return self._with("Less", other)

    def __le__(self, other: _Value) -> Tensor:
        return self._with("LessOrEqual", other)

    def __gt__(self, other: _Value) -> Tensor:
        return self._with("Greater", other)

    def __ge__(self, other: _Value) -> Tensor:
        return self._with("GreaterOrEqual", other)

    def __eq__(self, other: _Value) -> Tensor:  # type: ignore[override]
        return self._with("Equal", other)

    __hash__ = object.__hash__

    def __and__(self, other: _Value) -> Tensor:
        return self._with("And", other)

    def __or__(self, other: _Value) -> Tensor:
        return self._with("Or", other)

    def log(self) -> Tensor:
        """Return the logarithms."""
        return self._with("Log")

    def exp(self) -> Tensor:
        """Return the exponentials."""
        return self._with("Exp")

    def floor(self) -> Tensor:
        """Return the largest whole numbers that are not above the values."""
        return self._with("Floor")

    def abs(self) -> Tensor:
        """Return the values without their signs."""
        return self._with("Abs")

    def isnan(self) -> Tensor:
        """Return whether values are missing."""
        return self._with("IsNaN")

    def at_most(self, other: _Value) -> Tensor:
        """Return the lesser of two values."""
        return self._with("Min", other)

    def at_least(self, other: _Value) -> Tensor:
        """Return the larger of two values."""
        return self._with("Max", other)

    def where(self, yes: _Value, no: _Value) -> Tensor:
        """Return, of truth values, one of two values for each."""
        return self._with("Where", yes, no)

    def as_indices(self) -> Tensor:
        """Return whole numbers as indices."""
        return self.made.node("Cast", self, to=_types().INT64)

    def transposed(self) -> Tensor:
        """Return an array of two dimensions with its dimensions exchanged."""
        return self.made.node("Transpose", self, perm=[1, 0])

    def reshaped(self, *shape: int) -> Tensor:
        """Return the same values in another shape; -1 is what remains."""
        return self._with("Reshape", np.array(shape, dtype=np.int64))

    def take(self, indices: Tensor | NDArray[np.int64] | Sequence[int]) -> Tensor:
        """Return entries of the first dimension; the indices may have several dimensions."""
        if not isinstance(indices, Tensor):
            indices = self.made.constant(np.asarray(indices, dtype=np.int64))
        return self.made.node("Gather", self, indices, axis=0)

    def sum(self, axis: int) -> Tensor:
        """Return sums over a dimension, which disappears."""
        return self._reduced("ReduceSum", axis)

    def max(self, axis: int) -> Tensor:
        """Return maxima over a dimension, which disappears."""
        return self._reduced("ReduceMax", axis)

    def _reduced(self, operator: str, axis: int) -> Tensor:
        axes = self.made.constant(np.array([axis], dtype=np.int64))
        return self.made.node(operator, self, axes, keepdims=0)


class Expressions:
    """Collects the nodes and constants of one graph."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], tuple[str, Any]] = {}
        self._inputs: list[Any] = []

    def input(self, name: str, columns: int) -> Tensor:
        """Return an input of any number of rows and this number of columns."""
        from onnx import helper

        double = _types().DOUBLE
        self._inputs.append(helper.make_tensor_value_info(name, double, ["row", columns]))
        return Tensor(self, name)

    def constant(self, value: _Value) -> Tensor:
        """Return a number or an array as a constant."""
        array = np.ascontiguousarray(value)
        if array.dtype not in (np.int64, np.bool_):
            array = array.astype(np.float64)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            from onnx import numpy_helper

            name = f"c{len(self._constants)}"
            self._constants[key] = name, numpy_helper.from_array(array, name)
        return Tensor(self, self._constants[key][0])

    def node(self, operator: str, *inputs: _Value, **attributes: Any) -> Tensor:
        """Add a node. Return its result."""
        from onnx import helper

        given = [x if isinstance(x, Tensor) else self.constant(x) for x in inputs]
        name = f"t{len(self._nodes)}"
        names = [x.name for x in given]
        self._nodes.append(helper.make_node(operator, names, [name], **attributes))
        return Tensor(self, name)

    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        """Return arrays one after the other, along the first dimension."""
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=0)

    def zeros_like(self, array: Tensor) -> Tensor:
        """Return zeros in the shape of an array."""
        from onnx import numpy_helper

        zero = numpy_helper.from_array(np.zeros(1))
        return self.node("ConstantOfShape", self.node("Shape", array), value=zero)

    def file(self, result: Tensor, output: str, about: Mapping[str, str]) -> bytes:
        """Return the file of a graph with one result, an array with an entry per row."""
        import onnx
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [result.name], [output]))
        found = helper.make_tensor_value_info(output, _types().DOUBLE, ["row"])
        constants = [tensor for _, tensor in self._constants.values()]
        graph = helper.make_graph(self._nodes, "circuit", self._inputs, [found], constants)
        model = helper.make_model(
            graph,
            producer_name="spnc",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        helper.set_model_props(model, dict(about))
        onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content


def _types() -> Any:
    from onnx import TensorProto

    return TensorProto

"""A linear map of questions' vectors, learned from the library: what its authors call things leads to where they stand.

A model that was trained on everything embeds a question beside whatever reads like it. A library holds questions of its
own with their answers, its headings and what its links call other pages; a map learned from them turns questions toward
its pages. Passages keep their vectors: nothing is embedded anew.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import numpy as np

from ..models import Vector, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class QueryAdapter:
    """Questions of one model, turned toward one library's passages."""

    model: str  #: fingerprint of the model whose questions it maps
    matrix: Vectors  #: M of shape (dimension, dimension); its rows aren't of unit length

    def __call__(self, question: Vector) -> Vector:
        """The unit vector of `question + M question`.

        >>> turned = QueryAdapter("", np.array([[0, 0], [1, 0]], dtype=np.float32))(np.array([1, 0], dtype=np.float32))
        >>> turned.round(3).tolist()
        [0.7070000171661377, 0.7070000171661377]
        """
        turned = question + self.matrix @ question
        length = float(np.linalg.norm(turned))
        return np.asarray(turned / length, dtype=np.float32) if length > 0 else question

    def as_text(self) -> str:
        """The matrix, to be kept: base64 of float16, row by row."""
        return base64.b64encode(self.matrix.astype("<f2").tobytes()).decode("ascii")

    @classmethod
    def of_text(cls, model: str, text: str) -> QueryAdapter | None:
        """What `as_text` made; None for anything else.

        >>> kept = QueryAdapter("m", np.eye(3, dtype=np.float32)).as_text()
        >>> QueryAdapter.of_text("m", kept).matrix.tolist() == np.eye(3).tolist(), QueryAdapter.of_text("m", "?")
        (True, None)
        """
        try:
            numbers = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f2").astype(np.float32)
        except (binascii.Error, ValueError):
            return None
        dimension = round(len(numbers) ** 0.5)
        if not dimension or dimension * dimension != len(numbers) or not np.isfinite(numbers).all():
            return None
        return cls(model, numbers.reshape(dimension, dimension))

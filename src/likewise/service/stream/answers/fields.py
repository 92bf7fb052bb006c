"""What answers are made of: numbers, times and probabilities, each with its sentence in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema


class SchemaOf:
    """Metadata of plain JSON values that are a declared model, written down; the document shows the model."""

    def __init__(self, model: type) -> None:
        self._model = model

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """That of the model."""
        return handler.generate_schema(self._model)


Plain = dict[str, Any]
RoundNumber = Annotated[int, Field(description="The number of the round.", ge=1)]
Version = Annotated[int, Field(description="The policy's number: how many rounds were learned before it.", ge=0)]
Hash = Annotated[str, Field(description="A hash of the policy: its weights and its class of hypotheses.")]
Probability = Annotated[float, Field(description="The probability of a yes.", ge=0, le=1)]
Drawn = Annotated[int, Field(description="1 for yes, 0 for no. A person who is asked about again keeps the same lot.")]
Time = Annotated[str, Field(description="UTC, as ISO 8601 writes it.")]
Gap = Annotated[
    float | None,
    Field(
        description="The difference between the pair's probabilities; null without a pair, and to auditors who see "
        "only decisions."
    ),
]
Key = Annotated[str, Field(description="The public key that checks the signature.")]
Returning = Annotated[
    bool,
    Field(
        description="Whether they already had a decision. Then they get their first probability and decision "
        "again, and this round teaches nothing about them. Always false where each person has a lasting number and all "
        "labels come."
    ),
]
Outcome = Annotated[
    Literal["reported", "cleared", "skipped", "expired", "undrawn"],
    Field(
        description="reported: a pair was named. cleared: there is none, by a reviewer or by arithmetic. skipped, "
        "expired: nobody judged it. undrawn: the lot did not choose it for review."
    ),
]
Status = Literal["open", "closed", "learned", "discarded"]
Labelled = Literal["complete", "partial", "expired"]

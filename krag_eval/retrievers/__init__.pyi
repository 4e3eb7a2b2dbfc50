"""The records of this room that users meet: what public calls take and return."""

from .evaluate import RetrieverScores as RetrieverScores

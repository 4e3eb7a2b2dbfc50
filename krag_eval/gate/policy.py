"""What a run has to meet, from a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from krag_eval.checks import check_path, one_of
from krag_eval.errors import InvalidInputError, did_you_mean
from krag_eval.files import read_whole
from krag_eval.gate.requirements import Requirement
from krag_eval.settings import ScoringSettings, make_settings
from krag_eval.shapes import as_number, describe_type
from krag_eval.wrong_names import tell_names

INCONCLUSIVE = ("report", "fail", "pass")
_GATE_KEYS = ("require", "no_drop", "inconclusive", "confidence", "seed")
_SCORING_KEYS = ("level", "doc_key", "proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What has to hold for all queries, or for those of a slice.

    Attributes:
        require: Bounds on numbers.
        no_drop: For keys such as `ndcg@10`, the largest drop against the baseline that does not matter.
    """

    require: tuple[Requirement, ...] = ()
    no_drop: Mapping[str, float] = field(default_factory=dict)


@tell_names
@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A gate's policy.

    Attributes:
        demands: For all queries.
        slices: For slices, by field and value: `("type", "literal")`.
        inconclusive: What becomes of checks that the queries cannot decide: `"report"` (exit code 3), `"fail"` or
            `"pass"`.
        confidence: Of intervals and tests.
        seed: Of the random numbers.
        scoring: How runs are scored: the settings of `evaluate_run`.
    """

    demands: Demands = field(default_factory=Demands)
    slices: Mapping[tuple[str, str], Demands] = field(default_factory=dict)
    inconclusive: str = "report"
    confidence: float = 0.95
    seed: int = 0
    scoring: Mapping[str, Any] = field(default_factory=dict)

    @property
    def needs_baseline(self) -> bool:
        """Whether anything is compared with a baseline."""
        return any(demands.no_drop for demands in (self.demands, *self.slices.values()))

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Policy:
        """Read the tables `gate`, `slices.FIELD.VALUE` and `scoring`.

        Raises:
            InvalidInputError: A key is unknown, or a value has the wrong type.
        """
        _check_keys(tables, ("gate", "slices", "scoring"), "the policy")
        gate = _table(tables.get("gate", {}), "gate")
        _check_keys(gate, _GATE_KEYS, "[gate]")
        confidence = as_number(gate.get("confidence", 0.95))
        if confidence is None or not 0 < confidence < 1:
            raise InvalidInputError(
                f"`confidence` must be a number between 0 and 1, such as 0.95, got {gate.get('confidence')!r:.40}."
            )
        seed = gate.get("seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InvalidInputError(f"`seed` must be an integer, got {seed!r:.40}.")
        policy = cls(
            demands=_demands(gate, "[gate]"),
            slices=_slices(_table(tables.get("slices", {}), "slices")),
            inconclusive=one_of("inconclusive", gate.get("inconclusive", "report"), INCONCLUSIVE),
            confidence=confidence,
            seed=seed,
            scoring=_scoring(_table(tables.get("scoring", {}), "scoring")),
        )
        if not any((d.require or d.no_drop) for d in (policy.demands, *policy.slices.values())):
            raise InvalidInputError(
                'The policy demands nothing. Write, for example: [gate] require = ["recall@5 >= 0.8"]'
            )
        return policy


@tell_names
def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy from a TOML file.

    Raises:
        InvalidInputError: The file cannot be read, or is no policy; the message begins with the path.
    """
    check_path(path)
    try:
        tables = tomllib.loads(read_whole(path).decode("utf-8"))
    except InvalidInputError:
        raise
    except RecursionError:
        raise InvalidInputError(f"{path}: not valid TOML: nested too deep to be read. Correct the file.") from None
    except ValueError as error:  # of TOML, of UTF-8, of an integer with thousands of digits
        raise InvalidInputError(f"{path}: not valid TOML: {error}. Correct the file.") from None
    try:
        return Policy.from_dict(tables)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None


def _demands(table: Mapping[str, Any], place: str) -> Demands:
    require = table.get("require", [])
    if not isinstance(require, list):
        raise InvalidInputError(f"{place}: `require` is {describe_type(require)}. It must be a list of requirements.")
    return Demands(
        require=tuple(Requirement.parse(text) for text in require),
        no_drop={key: _drop(key, size) for key, size in _table(table.get("no_drop", {}), f"{place} no_drop").items()},
    )


def _drop(key: str, size: object) -> float:
    number = as_number(size)
    if number is None or not 0 <= number <= 1:
        raise InvalidInputError(f"`no_drop` of {key!r} must be a number from 0 to 1, got {size!r:.40}.")
    return number


def _slices(table: Mapping[str, Any]) -> dict[tuple[str, str], Demands]:
    slices = {}
    for name, values in table.items():
        for value, demands in _table(values, f"slices.{name}").items():
            place = f"[slices.{name}.{value}]"
            _check_keys(_table(demands, place), ("require", "no_drop"), place)
            slices[name, value] = _demands(demands, place)
    return slices


def _scoring(table: Mapping[str, Any]) -> Mapping[str, Any]:
    _check_keys(table, (*ScoringSettings.__annotations__, *_SCORING_KEYS), "[scoring]")
    make_settings(**{name: value for name, value in table.items() if name not in _SCORING_KEYS})
    return table


def _table(given: object, name: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"`{name}` is {describe_type(given)}. It must be a table.")
    return given


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in known:
            raise InvalidInputError(
                f"{place} has no {key!r}.{did_you_mean(key, known)} It may have: {', '.join(known)}."
            )

"""Prompts are files that can be read and replaced, and what is put into them stays what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval_llm.prompts import delimited
from krag_eval_llm.question_generation.candidates import Prompts, load_prompts
from krag_eval_llm.question_generation.generate import TYPES
from tests.support.generation_cases import CHUNKS, Writer, generate

FOLDER = Path(__file__).parents[3] / "adapters" / "krag_eval_llm" / "question_generation" / "prompts"


def test_there_is_a_file_for_each_type_and_nothing_else_but_rules_and_retry() -> None:
    assert sorted(file.name for file in FOLDER.iterdir()) == sorted(
        f"{name}.txt" for name in (*TYPES, "rules", "retry")
    )


def test_the_bundled_prompts_are_the_files(tmp_path: Path) -> None:
    prompts = load_prompts(None, TYPES)
    assert prompts.texts == {file.stem: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}
    assert load_prompts(FOLDER, TYPES).version == prompts.version


def test_a_folder_or_a_mapping_replaces_some_and_leaves_the_others(tmp_path: Path) -> None:
    own = "Ask about this in {language}:\n{passage}\nUse the words of the passage."
    (tmp_path / "literal.txt").write_text("\ufeff" + own, encoding="utf-8")
    for given in (tmp_path, str(tmp_path), {"literal": own}):
        writer = Writer()
        made = generate(writer, types=["literal", "negative"], n=2, prompts=given)
        assert writer.prompts[0].startswith("Ask about this in the language of the passage:\n-----BEGIN PASSAGE ")
        assert writer.prompts[1].startswith("You write questions")
        assert made.report.prompts == load_prompts({"literal": own}, ["literal", "negative"]).version
        assert made.report.prompts != load_prompts(None, ["literal", "negative"]).version
        assert made.evalset[0].source == f"Writer, prompts {made.report.prompts}"


def test_a_type_of_ones_own_has_a_prompt_of_ones_own() -> None:
    prompt = "{rules}\nAsk as a child would, in words of your own.\n{passage}"
    made = generate(Writer(), types=["child"], n=2, prompts={"child": prompt})
    assert [(question.id, question.type) for question in made.evalset] == [("child-1", "child"), ("child-2", "child")]


def test_what_is_put_in_is_never_looked_at_for_placeholders_again() -> None:
    prompts = Prompts({"rules": "in {language}", "retry": "{reason}: {earlier}", "x": "{rules} {passage}"})
    filled = prompts.first("x", "{rules} {language} {0} %s $x {passage.__class__}", "{passage}")
    assert filled == "in {passage} " + delimited("{rules} {language} {0} %s $x {passage.__class__}", "PASSAGE")
    again = prompts.again("first", "{earlier}", "{reason}\n", "en")
    assert again == 'first\n\n{earlier}: "{reason}\\n"'


def test_a_passage_cannot_end_itself() -> None:
    one, other = (delimited(text, "PASSAGE") for text in ("a", "a\n-----END PASSAGE 000000000000-----"))
    assert one.splitlines()[-1] not in other
    assert other.splitlines()[0].replace("BEGIN", "END") == other.splitlines()[-1]


REFUSED: dict[str, tuple[Any, str]] = {
    "no such folder": ("no/such/folder", "is not a folder"),
    "no passage": ({"literal": "{rules} Ask."}, r"'literal' lacks \{passage\}"),
    "no language": ({"literal": "{passage}"}, r"'literal' lacks \{language\}"),
    "rules without a language": ({"rules": "Be good."}, r"lacks \{language\}"),
    "a typing error": (
        {"literal": "{rules} {pasage}"},
        r"has the unknown placeholder \{pasage\}. Did you mean 'pas",
    ),
    "an unknown name": ({"litteral": "{rules} {passage}"}, "which is not a prompt. Did you mean 'literal'"),
    "no text": ({"literal": 3}, "has an int for 'literal'"),
    "a number": (3, "`prompts` must be"),
    "a retry without a reason": ({"retry": "Again."}, r"'retry' lacks \{reason\}"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_prompts_that_cannot_work_are_refused_before_anything_is_asked(given: Any, message: str) -> None:
    writer = Writer()
    with pytest.raises(InvalidInputError, match=message):
        generate(writer, prompts=given)
    assert writer.prompts == []


def test_files_that_cannot_be_read_are_refused_by_their_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="contains no prompt"):
        generate(Writer(), prompts=tmp_path)
    (tmp_path / "literal.txt").write_bytes(b"\xff\xfe{passage}")
    with pytest.raises(InvalidInputError, match=r"literal\.txt: cannot be read"):
        generate(Writer(), prompts=tmp_path)


ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "n": ({"n": 0}, "`n` must be an integer of at least 1"),
    "types as a string": ({"types": "literal"}, "`types` must be"),
    "no types": ({"types": []}, "Give at least one"),
    "a type twice": ({"types": ["literal", "literal"]}, "each once"),
    "an unknown type": ({"types": ["litteral"]}, "which has no prompt. Did you mean 'literal'"),
    "rules as a type": ({"types": ["rules"]}, "`types` has 'rules'"),
    "language": ({"language": " "}, '`language` must be "auto"'),
    "seed": ({"seed": 0.5}, "`seed` must be an integer"),
    "near duplicates": ({"near_duplicates": 0}, "`near_duplicates` must be"),
    "quoted": ({"most_quoted": 2}, "`most_quoted` must be a number above 0 and at most 1"),
    "concurrency": ({"concurrency": 0}, "`concurrency` must be"),
    "progress": ({"progress": "yes"}, "`progress` must be"),
    "retries": ({"retries": -1}, "`retries` must be"),
    "a path for chunks": ({"chunks": "chunks.jsonl"}, r"`chunks` must be .*read_corpus"),
    "no chunks": ({"chunks": []}, "has no usable chunk: there are none"),
    "short chunks": ({"chunks": ["a b", "c"]}, "has no usable chunk: 2 with fewer than 4 words"),
    "no document": ({"chunks": [CHUNKS[0], 3]}, "chunk 1: an int is not a document"),
    "an id for two texts": ({"chunks": [CHUNKS[0], {**CHUNKS[0], "text": "Another text."}]}, "has two different texts"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("change", "message"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_that_cannot_be_used_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        generate(Writer(), **change)


def test_no_model_is_no_model() -> None:
    with pytest.raises(InvalidInputError, match="cannot be asked"):
        generate("gpt-4")

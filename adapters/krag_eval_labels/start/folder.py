"""Make the folder of an evaluation from a log: the questions, the runs, the pool, and what to label."""

from __future__ import annotations

import hashlib
import math
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from krag_eval import (
    Document,
    EvalSet,
    InvalidInputError,
    Run,
    RunRow,
    as_document,
    normalize,
    read_corpus,
    read_run,
    run_retriever,
    write_evalset,
)
from krag_eval import write_run as write_run_file
from krag_eval.toolkit import (
    Argument,
    check_count,
    check_number,
    dump_json,
    number_of,
    parse_json,
    read_checked,
    read_whole,
    refuse,
    write_atomically,
)
from krag_eval_labels.files import pair_of
from krag_eval_labels.start.choosing import Chosen, choose, design_of
from krag_eval_labels.start.design import Design
from krag_eval_labels.start.judging import judge_pools
from krag_eval_labels.start.pooling import Pool, second_retriever
from krag_eval_labels.start.reading import ReadLog, documents_of, read_log, with_id

VERSION = 1
HELPER = "bm25"
_DEPTH_OF_HELPER, _DEEPEST = 3, 50
_SECONDS = 12
_FIXED = ("k", "questions", "outside", "seed", "mask")
_SPREAD = 0.35  # of precision@k over questions, before any label


@dataclass(slots=True)
class Folder:
    """An evaluation from a log, as it lies in a folder.

    Attributes:
        path: The folder.
        state: What start.json holds.
    """

    path: Path
    state: dict[str, Any]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Folder:
        """Read start.json of a folder.

        Raises:
            InvalidInputError: There is none, or it is none of ours.
        """
        own = Path(path)
        if not (own / "start.json").is_file():
            raise InvalidInputError(
                f"{own}: has no start.json. Make the folder with `krag-eval start LOG --out {shlex.quote(str(own))}`."
            )
        try:
            state = parse_json(read_whole(own / "start.json").decode())
        except ValueError as error:
            raise InvalidInputError(
                f"{own / 'start.json'}: is damaged ({error}). Delete it and start again."
            ) from error
        if not isinstance(state, dict) or state.get("krag_eval_start") != VERSION:
            raise InvalidInputError(f"{own / 'start.json'}: is not of this version. Name another folder.")
        return cls(own, state)

    @property
    def k(self) -> int:
        """How many ranks count."""
        return int(self.state["settings"]["k"])

    @property
    def systems(self) -> list[str]:
        """The names of what is compared, the log first."""
        return list(self.state["systems"])

    @property
    def design(self) -> Design:
        """The design: all questions of the log in the order of the draw."""
        return design_of(self.state["design"]["weight"], self.state["design"]["stratum"])

    @property
    def n_chosen(self) -> int:
        """How many of the questions were chosen."""
        return int(self.state["counts"]["chosen"])

    def save(self) -> None:
        """Write start.json."""
        write_atomically(self.path / "start.json", [dump_json(self.state, "start.json"), "\n"])

    def questions(self) -> list[dict[str, Any]]:
        """Return the chosen questions in the order of the draw."""
        return [row for _, row in read_checked(self.path / "questions.jsonl")]

    def pools(self) -> list[Pool]:
        """Return the pools of the chosen questions."""
        return [Pool.from_dict(row) for _, row in read_checked(self.path / "pool.jsonl")]

    def put_pools(self, pools: Sequence[Pool]) -> None:
        """Write the pools."""
        write_atomically(self.path / "pool.jsonl", (dump_json(one.to_dict(), "a pool") + "\n" for one in pools))

    def run(self, name: str) -> Run:
        """Return a run of the folder."""
        return read_run(self.path / "runs" / f"{name}.jsonl", name=name)

    def put_run(self, name: str, rankings: Mapping[str, Sequence[Document]]) -> None:
        """Write a run, unless it is there."""
        target = self.path / "runs" / f"{name}.jsonl"
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = [RunRow(query_id=query, retrieved=tuple(found)) for query, found in rankings.items()]
        write_run_file(Run.of(name, rows), target)

    def put_set(self, questions: Sequence[Mapping[str, Any]]) -> None:
        """Write the evaluation set of these questions, and the systems' runs of them."""
        write_evalset(EvalSet(questions, name="set"), self.path / "set.jsonl")
        (self.path / "labelled").mkdir(exist_ok=True)
        for name in self.systems:
            rows = self.run(name).rows
            own = [rows[one["id"]] for one in questions if one["id"] in rows]
            write_run_file(Run.of(name, own), self.path / "labelled" / f"{name}.jsonl")

    def queue(self) -> list[dict[str, Any]]:
        """Return the rows of the labelling queue as they are now."""
        path = self.path / "queue.jsonl"
        return [row for _, row in read_checked(path)] if path.exists() else []

    def fill_queue(self, labels: int) -> tuple[int, int]:
        """Put the pools of the first questions into the queue, up to so many documents; labels stay.

        Returns:
            How many rows the queue has, and how many of them are new.
        """
        pools, asked = self.pools(), {row["id"]: row["question"] for row in self.questions()}
        before = self.queue()
        ends = np.cumsum([len(pool.documents) + len(pool.outside) for pool in pools])
        in_queue = {row["query_id"] for row in before}
        n = max(int((ends <= labels).sum()), min(2, len(pools)), sum(pool.query_id in in_queue for pool in pools))
        every = np.arange(len(pools))
        p = self.design.probabilities(every[:n], every)
        kept = {pair_of(row): row for row in before}
        rows: list[dict[str, Any]] = []
        for i, pool in enumerate(pools[:n]):
            for row in pool.rows(asked[pool.query_id], i, float(p[i])):
                old = kept.pop(pair_of(row), None)
                rows.append(row if old is None else old | {"probability": row["probability"]})
        n_new = len(rows) - len(before) + len(kept)
        rows += kept.values()  # what somebody added
        if rows != before:
            write_atomically(self.path / "queue.jsonl", (dump_json(row, "a row of the queue") + "\n" for row in rows))
        return len(rows), n_new


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What `start_from_log` did; as a string, what the command prints.

    Attributes:
        folder: The folder.
        state: What its start.json holds.
        lines: What was read, chosen and pooled, and what to do next.
    """

    folder: Path
    state: Mapping[str, Any]
    lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the state without the design of each question, ready for JSON."""
        return {"folder": os.fspath(self.folder), **{k: v for k, v in self.state.items() if k != "design"}}

    def __str__(self) -> str:
        return "\n".join(self.lines)


def start_from_log(
    log: str | os.PathLike[str],
    out: str | os.PathLike[str] = "eval",
    *,
    retriever: object = None,
    corpus: object = None,
    k: int | None = None,
    questions: int | None = None,
    labels: int | None = None,
    width: float | None = None,
    outside: int | None = None,
    judge: object = None,
    max_calls: int | None = None,
    mask: bool | None = None,
    seed: int | None = None,
    **reading: Any,
) -> Started:
    """Make a folder for an evaluation from a log without gold, or go on with one.

    Nothing in the folder is overwritten. The same call again changes nothing; `labels` puts more questions into the
    queue, a further `retriever` adds what it found, and a `judge` goes on where it stopped.

    Args:
        log: The log in any layout that `inspect_file` reads, OTLP, an export of Langfuse, LangSmith or Phoenix; or a
            folder that was made before.
        out: The folder.
        retriever: A second system: a run, the path of one, or a function from a question to documents. Rows of a run
            belong to the questions with their ids, else with their texts. By default BM25 over the corpus, or over
            all chunks of the log, only adds to the pool; `"none"` leaves it out.
        corpus: The searched documents, or their path; by default all chunks of the log.
        k: How many ranks count; 5 by default.
        questions: How many questions are chosen; 200 by default. A judge labels the pools of all of them.
        labels: How many documents people are to label; 100 by default.
        width: How wide the interval of precision@k may be, or of its difference; 0.2 by default.
        outside: How many documents outside of its pool are labelled for each question; 1 by default.
        judge: A model, as `judge_contexts` takes it, or labels as `estimate` takes them.
        max_calls: How many prompts the model gets at most.
        mask: Replace credentials and e-mail addresses.
        seed: Of all draws; 0 by default.
        **reading: `columns`, `encoding`, `sheet`, `rows` and `separator`, as for `inspect_file`.

    Raises:
        InvalidInputError: The file is no log, the folder was made of another one or with other settings, or an argument
            cannot be used.
    """
    own = Path(log) if Path(log).is_dir() else Path(out)
    given = {"k": k, "questions": questions, "outside": outside, "seed": seed, "mask": mask}
    settings = {"k": 5, "questions": 200, "outside": 1, "seed": 0, "mask": False}
    settings |= {name: value for name, value in given.items() if value is not None}
    for name, least in (("k", 1), ("questions", 2), ("outside", 0), ("seed", 0)):
        check_count(name, settings[name], least=least)
    if labels is not None:
        check_count("labels", labels)
    if width is not None:
        check_number("width", width, "Give one such as 0.2.", above=0)
    if Path(log).is_dir() or (own / "start.json").is_file():
        folder = Folder.open(own)
        if not Path(log).is_dir() and folder.state["log"]["sha256"] != _hash(Path(log)):
            raise InvalidInputError(
                f"{own}: was made of another log, {folder.state['log']['path']}. Name another folder."
            )
        for name in _FIXED:
            if given[name] not in (None, was := folder.state["settings"][name]):
                raise InvalidInputError(f"{own}: was made with ", Argument(name, was), ". Name another folder.")
    else:
        folder = _new(Path(log), own, settings, retriever, corpus, reading)
    state, lines = folder.state["settings"], list(folder.state["said"])
    state["width"] = width or state.get("width", 0.2)
    state["labels"] = max(labels or state.get("labels", 100), state.get("labels", 0))
    lines += _add_system(folder, retriever, corpus)
    n_rows, n_new = folder.fill_queue(int(state["labels"]))
    if judge is not None:
        pairs = [
            (pool.query_id, row["question"], document)
            for pool, row in zip(folder.pools(), folder.questions(), strict=True)
            for document in pool.documents
        ]
        lines.append(judge_pools(folder.path / "judge.jsonl", pairs, judge, max_calls))
    folder.save()
    queue = folder.queue()
    n_open = sum(row.get("label") is None for row in queue)
    n_questions = len({row["query_id"] for row in queue})
    lines.append(
        f"{folder.path / 'queue.jsonl'}: {number_of(n_rows, 'document')} of {number_of(n_questions, 'question')} to "
        f"label{f', {n_new} of them new' if 0 < n_new < n_rows else ''}; {n_open} without a label, about "
        f"{number_of(max(round(n_open * _SECONDS / 60), 1), 'minute')} at {_SECONDS} s each"
    )
    if n_open == n_rows:
        lines += plan_lines(folder, n_rows / max(n_questions, 1))
    readme, typed = folder.path / "README.md", shlex.quote(os.fspath(folder.path))
    if not readme.exists():
        text = Path(__file__).with_name("readme.txt").read_text(encoding="utf-8")
        write_atomically(readme, [text.format(log=folder.state["log"]["path"], out=typed, k=folder.k)])
    lines.append(f"Next: krag-eval label {typed}, then krag-eval start {typed}")
    return Started(folder=folder.path, state=folder.state, lines=tuple(lines))


def _new(
    log: Path, out: Path, settings: dict[str, Any], retriever: object, corpus: object, reading: Mapping[str, Any]
) -> Folder:
    read = read_log(log, mask=settings["mask"], **reading)
    chosen = choose(read.rows, k=settings["k"], seed=settings["seed"])
    n = min(settings["questions"], len(chosen.rows))
    strata = {
        name: {
            "rows": sum(w for w, one in zip(chosen.weight, chosen.stratum, strict=True) if one == name),
            "questions": chosen.stratum.count(name),
            "chosen": chosen.stratum[:n].count(name),
        }
        for name in sorted(set(chosen.stratum))
    }
    counts = {"rows": len(read.rows), "questions": len(chosen.rows), "chosen": n, "strata": strata}
    most = max(chosen.weight)
    folded = f"{number_of(len(read.rows), 'row')}, {number_of(len(chosen.rows), 'question')} after folding"
    most_rows = f" (one stands for {most} rows)" if most > 1 else ""
    listed = ", ".join(f"{name} {one['rows']}" for name, one in strata.items())
    in_strata = f", in strata by {' and '.join(chosen.by)}: {listed}" if chosen.by else ""
    said = [f"{log}: {read.kind}, {folded} near-duplicates with the same results{most_rows}"]
    said += [f"  {note}" for note in read.notes]
    said.append(f"  {number_of(n, 'question')} chosen{in_strata}")
    out.mkdir(parents=True, exist_ok=True)
    state = {
        "krag_eval_start": VERSION,
        "log": {"path": os.fspath(log), "sha256": _hash(log), "kind": read.kind, "notes": read.notes},
        "settings": settings,
        "counts": counts,
        "by": chosen.by,
        "systems": ["log"],
        "helper": None,
        "said": said,
        "design": {"weight": chosen.weight, "stratum": chosen.stratum},
    }
    folder = Folder(out, state)
    _put(folder, read, chosen, retriever, corpus)
    folder.save()  # last: without it, the same call does all of this again
    return folder


def _put(folder: Folder, read: ReadLog, chosen: Chosen, retriever: object, corpus: object) -> None:
    """Write what is not there yet of questions, runs and pools."""
    rows = chosen.rows[: folder.n_chosen]
    target = folder.path / "questions.jsonl"
    if target.exists() and [row["id"] for row in folder.questions()] != [row.id for row in rows]:
        raise InvalidInputError(f"{target}: has the questions of something else. Name another folder.")
    every = np.arange(len(chosen.rows))
    p = folder.design.probabilities(every[: len(rows)], every)
    if not target.exists():
        questions = [
            {
                "id": row.id,
                "question": row.question,
                "gold": [],
                "metadata": {"weight": weight, "stratum": stratum, "probability": float(one)},
            }
            for row, weight, stratum, one in zip(rows, chosen.weight, chosen.stratum, p, strict=False)
        ]
        write_evalset(EvalSet(questions), target)
    folder.put_run("log", {row.id: row.retrieved for row in rows})
    k, pools = folder.k, []
    texts = documents_of(read.rows) if corpus is None else _corpus(corpus)
    search: Callable[[str], list[str]] | str = "it was left out"
    if retriever != "none":
        search = second_retriever(texts, _DEEPEST)
    if isinstance(search, str):
        folder.state["said"].append(f"  no second retriever adds to the pool: {search}")
    else:
        folder.state["helper"] = HELPER
        folder.state["said"].append(
            f"  pool: the log's first {k} and the first {_DEPTH_OF_HELPER} of BM25 over {len(texts):,} chunks"
        )
    if (folder.path / "pool.jsonl").exists():
        return
    found: dict[str, Sequence[Document]] = {}
    for number, row in enumerate(rows):
        ranked = [] if isinstance(search, str) else search(row.question)
        pool = Pool(query_id=row.id, documents=[], ranks=[], outside=[], probabilities=[], n_outside=0)
        pool = pool.with_ranking("log", [_with_text(one, texts) for one in row.retrieved], k)
        if not isinstance(search, str):
            found[row.id] = [texts[one] for one in ranked]
            pool = pool.with_ranking(HELPER, found[row.id], _DEPTH_OF_HELPER)
        seed = int(folder.state["settings"]["seed"]) * 1_000_003 + number
        pools.append(pool.with_outside(ranked, texts, int(folder.state["settings"]["outside"]), seed))
    if found:
        folder.put_run(HELPER, found)
    folder.put_pools(pools)


def _add_system(folder: Folder, retriever: object, corpus: object) -> list[str]:
    """Add what a further system retrieved to the runs and the pools, and say how many labels that needs."""
    if retriever in (None, "none", HELPER):
        return []
    questions, k = folder.questions(), folder.k
    known = {path.stem for path in (folder.path / "runs").glob("*.jsonl")}
    name = _name_of(retriever)
    if name in folder.systems:
        return []
    if name in known:
        raise InvalidInputError(
            Argument("retriever"), f": {name!r} is the name of a run that is there. Rename the file."
        )
    if isinstance(retriever, (str, os.PathLike)):
        retriever = read_run(retriever)
    asked: Any = retriever
    run = retriever if isinstance(retriever, Run) else run_retriever(EvalSet(questions), asked, k=max(k, 10))
    by_text = {normalize(str(row.further.get("question"))): row for row in run.rows.values()}
    texts = {} if corpus is None else _corpus(corpus)
    for there in known:  # what other systems retrieved
        texts |= {one.id or "": one for row in folder.run(there).rows.values() for one in row.retrieved if one.text}
    rankings: dict[str, Sequence[Document]] = {}
    for row in questions:
        found = run.rows.get(row["id"]) or by_text.get(normalize(row["question"]))
        if found is not None:
            rankings[row["id"]] = [_with_text(with_id(one), texts) for one in found.found if one.id or one.text]
    if not rankings:
        raise InvalidInputError(
            Argument("retriever"),
            f": {name!r:.60} has no row for a chosen question, by id or text. Run it on {folder.path}/questions.jsonl.",
        )
    missing = [row["id"] for row in questions if row["id"] not in rankings]
    rankings |= dict.fromkeys(missing, ())
    before = folder.pools()
    pools = [pool.with_ranking(name, rankings[pool.query_id], k) for pool in before]
    queue = folder.queue()
    in_queue, queued = {row["query_id"] for row in queue}, {pair_of(row) for row in queue}
    needed = [row for pool in pools if pool.query_id in in_queue for row in pool.rows("", 0, 1.0)]
    new = [row for row in needed if pair_of(row) not in queued]
    n_new, n_blind = len(new), sum("text" not in row["document"] for row in new)
    folder.put_run(name, rankings)
    folder.put_pools(pools)
    folder.state["systems"].append(name)
    folder.save()
    lines = [f"{name}: needs {number_of(n_new, 'new label')} for the questions in the queue; all others are reused"]
    if not in_queue:
        lines = [f"{name}: a second system; its first {k} documents are in the pool"]
    if n_blind:
        lines.append(f"  {n_blind} of these have no text: name the searched documents as `corpus`")
    if missing:
        lines.append(f"  {number_of(len(missing), 'question')} without a row in it: they count as nothing retrieved")
    return lines


def _with_text(document: Document, texts: Mapping[str, Document]) -> Document:
    """Return a document with the text that another one of the same id has, if it has none."""
    known = texts.get(document.id or "")
    return document if document.text or known is None else replace(document, text=known.text)


def _name_of(retriever: object) -> str:
    given = Path(retriever).stem if isinstance(retriever, (str, os.PathLike)) else getattr(retriever, "name", None)
    name = given if isinstance(given, str) and given else getattr(retriever, "__name__", type(retriever).__name__)
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)[:60] or "second"


def plan_lines(folder: Folder, per_question: float, spread: float = _SPREAD, n_now: int = 0) -> list[str]:
    """Return how many labels make the interval of precision@k how wide, by how far the questions spread."""
    n_all, design = folder.n_chosen, folder.design
    worth = len(design.weight) * (design.weight.mean() ** 2 / (design.weight**2).mean())  # of equal weights
    wanted = float(folder.state["settings"]["width"])
    parts = []
    for width in sorted({wanted, 0.3, 0.2, 0.1}, reverse=True):
        n = (2 * 1.96 * spread / width) ** 2
        n = math.ceil(n / (1 + n / max(worth, 1)))
        more = f"{n * per_question:.0f} labels" if n <= n_all else "more questions than were chosen"
        parts.append(f"{width:g}: {more}{' (wanted)' if width == wanted else ''}")
    seen = "as the labelled questions spread" if n_now else "before any label, if questions spread by 0.35"
    return [f"Plan, width of the 95 % interval of precision@{folder.k} {seen}: {'; '.join(parts)}"]


def _corpus(corpus: object) -> dict[str, Document]:
    documents = read_corpus(corpus) if isinstance(corpus, (str, os.PathLike)) else corpus
    if not isinstance(documents, (list, tuple)):
        refuse("corpus", "a path or a list of documents", corpus)
    return {one.id or "": one for one in (with_id(as_document(d)) for d in documents)}


def _hash(path: Path) -> str:
    return hashlib.sha256(read_whole(path)).hexdigest()

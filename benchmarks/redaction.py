"""What the redaction of credentials costs and changes.

Call it with `python -m benchmarks.redaction FOLDER`. FOLDER holds `xquad` and `korquad1` (SQuAD format). It prints how
many of their questions and passages are changed, the share of CPU time that redaction adds to a run of 10,000
questions, and the time for long texts.

`detect-secrets` 1.5.0 was measured on the same texts and does not fit: it finds lines and not places, takes 0.18 s to
start and 0.9 ms per line, brings requests and PyYAML, misses 14 of our 157 shapes (8 of them addresses and headers) and
raises an alarm for 613 of 2,000 ordinary questions and passages.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from krag_eval import Redactor, run_retriever

N_QUESTIONS, ROUNDS = 10_000, 5
LANGUAGES = {
    "Korean": "korquad1/KorQuAD_v1.0_dev.json",
    **{name: f"xquad/xquad.{code}.json" for name, code in {"English": "en", "Russian": "ru", "Chinese": "zh"}.items()},
    **{name: f"xquad/xquad.{code}.json" for name, code in {"Arabic": "ar", "Thai": "th"}.items()},
}
# Ordinary texts that speak of credentials, and what only looks like one.
PROSE = r"""
The secret of success: work. A token: a unit of text. The key: C major. The session: 3 hours. Auth: OAuth 2.0
Password: the forgotten film
The basic principles of bearer bonds and basic research; bearer instruments are transferable
Authorization: granted by the king of France. Cookie: recipes for children, 12 cookies for 4 people
sorted(rows, key=itemgetter(1)); max(d, key=d.get); key=value pairs; token = next(iterator); token: str = "abc"
def login(user: str, password: str) -> None: password = getpass.getpass(); api_key = os.environ["OPENAI_API_KEY"]
export API_KEY=$MY_KEY and password=${DB_PASS}. Set `api_key=...` or password=<your password>, password=None
See https://docs.example:8443/guide/tokens#key and http://localhost:9200/_search?q=a@b
Write to me@example.org, @someone or git@github.com:org/repo.git, see https://medium.com/@user/post-12
doi:10.1145/582415.582418, 550e8400-e29b-41d4-a716-446655440000, commit 9a1e345f08fa06e163a3495110171974b5f0000a
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, id dGhpc19pc19hbl9pZF8xMjM0NQ==
the key 'doc_id' is missing; {'key': 'chunk_0017', 'token': 'house'}; {"key": "reports/2024/q3.pdf", "session": "a-3"}
In Kerberos, the session key: 128 bits; the private key: 2048-bit RSA. Secret: 42 ways. Access key: press Alt+K
sk-learn-2023-tutorial-part, pa-12-budget-report-2024-final, xai-methods-for-explainable-2024-models, key-value-store
docker run -u 1000:1000 image, curl -u user: https://example.org, unexpected token '}' at line 3, max_tokens=500
비밀번호: 잊혀진 영화. 토큰: 글의 단위. API 키를 다시 발급하는 방법은?
Пароль: забытый фильм. Токен: единица текста. Секрет успеха: труд
密码：被遗忘的电影。令牌：文本单位。密钥: 钢琴
"""


def texts_of(path: Path) -> Iterator[str]:
    """Yield the passages and questions of a file in SQuAD format."""
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            yield paragraph["context"]
            yield from (question["question"] for question in paragraph["qas"])


def count_changed(folder: Path) -> int:
    """Print and return how many ordinary texts are changed."""
    redact, total = Redactor(), 0
    for language, name in LANGUAGES.items():
        if not (folder / name).is_file():
            sys.exit(f"{folder / name} is missing: get it as {folder / 'SOURCES.md'} says, or give another folder.")
        texts = list(texts_of(folder / name))
        changed = [text for text in texts if redact(text) != text]
        total += len(changed)
        print(f"{language}: {len(changed)} of {len(texts):,} texts changed {[text[:60] for text in changed[:3]]}")
    lines = PROSE.strip().split("\n")
    changed = [line for line in lines if redact(line) != line]
    print(f"prose about credentials: {len(changed)} of {len(lines)} lines changed {changed}")
    return total + len(changed)


def documents(number: int) -> list[dict[str, Any]]:
    """Return ten documents with a text and metadata."""
    return [
        {
            "id": f"c{number}-{rank}",
            "text": "The lamp costs 10 euros, and the shop is open from nine to five. " * 4,
            "metadata": {
                "source": f"docs/file{number * 10 + rank}.pdf",
                "page": rank,
                "title": f"Lamps, part {number}",
                "date": f"2026-{rank + 1:02}-{number % 28 + 1:02}",
                "similarity": 1 / (number + rank + 2),
            },
        }
        for rank in range(10)
    ]


def seconds(retrieve: Callable[[str], Any], folder: str | None) -> float:
    """Return the CPU seconds of a run of 10,000 questions, with a journal in a folder, or without one."""
    evalset = [{"id": f"q{n}", "question": f"{n}", "gold_chunk_ids": ["c1"]} for n in range(N_QUESTIONS)]
    start = time.process_time()
    run_retriever(evalset, retrieve, k=10, progress=False, journal=folder and f"{folder}/run.jsonl", fresh=True)
    return time.process_time() - start


def measure_runs() -> None:
    """Print what redaction adds to runs."""
    corpus = [documents(number) for number in range(N_QUESTIONS)]
    for n_rankings in (200, N_QUESTIONS):

        def retrieve(question: str, n_rankings: int = n_rankings) -> list[dict[str, Any]]:
            return corpus[int(question) % n_rankings]

        for has_journal in (True, False):
            with_it, without = [], []
            for _ in range(ROUNDS):
                with tempfile.TemporaryDirectory() as folder:
                    place = folder if has_journal else None
                    with_it.append(seconds(retrieve, place))
                    with patch.object(Redactor, "is_clean", lambda *_: True):
                        without.append(seconds(retrieve, place))
            print(
                f"{n_rankings * 10:,} documents, {'a' if has_journal else 'no'} journal: {min(with_it):.2f} s, without "
                f"redaction {min(without):.2f} s: {min(with_it) / min(without) - 1:+.1%}"
            )


def measure_long_texts() -> None:
    """Print the time per megabyte of long texts, which has to be the same for each size."""
    redact = Redactor()
    for name, part in {
        "prose": "The lamp costs 10 euros. ",
        "assignments": "password: key=token= ",
        "colons": "://",
    }.items():
        for size in (250_000, 1_000_000):
            text = part * (size // len(part))
            start = time.process_time()
            redact(text)
            print(f"{name}, {size:,} characters: {(time.process_time() - start) / size * 1e6:.2f} s per million")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    n_changed = count_changed(Path(sys.argv[1]))
    measure_runs()
    measure_long_texts()
    sys.exit(1 if n_changed else 0)

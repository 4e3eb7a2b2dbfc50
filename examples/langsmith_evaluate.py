"""Score a retriever in a LangSmith experiment: deterministic retrieval metrics for every example and for all of them.

    python -m examples.langsmith_evaluate

Needs LangChain: pip install "krag-eval[langchain]"
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langsmith import Client
from langsmith.schemas import Example

from krag_eval_langchain import as_langsmith_evaluator, as_langsmith_summary_evaluator

ARTICLES = {
    "refund": "Refunds arrive within three working days after we approve them.",
    "islands": "Parcels to the islands take two more days; we ship on weekdays.",
    "hours": "The shop is open from 9 to 18, on Saturdays until noon.",
    "환불": "환불은 승인 후 영업일 기준 3일 이내에 입금됩니다.",
    "제주": "제주도와 도서 지역은 배송에 이틀이 더 걸립니다.",
    "교환": "교환은 상품을 받은 날부터 14일 이내에 신청할 수 있습니다.",
}
ASKED = {
    "How long do refunds take?": ["refund", "환불"],
    "제주도 배송은 며칠 걸리나요?": ["제주", "islands"],
    "교환은 언제까지 신청할 수 있나요?": ["교환"],
    "Do you sell gift cards?": [],  # nothing answers this one: it has no recall, and is left out of the means
}


class BigramRetriever(BaseRetriever):
    """Ranks articles by the pairs of letters that they share with the question; put your own retriever here."""

    k: int = 3

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it
    ) -> list[Document]:
        asked = _bigrams(query)
        ranked = sorted(ARTICLES, key=lambda name: -len(asked & _bigrams(ARTICLES[name])) / len(ARTICLES[name]) ** 0.5)
        return [Document(page_content=ARTICLES[name], metadata={"id": name}) for name in ranked[: self.k]]


def _bigrams(text: str) -> set[str]:
    letters = "".join(filter(str.isalnum, text.lower()))
    return {letters[i : i + 2] for i in range(len(letters) - 1)}


class LoopbackLangSmith:
    """A stand-in for LangSmith on this machine: it records the feedback that arrives, and proves nothing more."""

    def __init__(self) -> None:
        self.feedback: list[dict[str, Any]] = []
        self._session: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def respond(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        """The answer to a request."""
        if (method, path) == ("POST", "/feedback"):
            self.feedback.append(json.loads(body))
        if (method, path) == ("POST", "/sessions"):  # an experiment
            given = json.loads(body)
            self._session = {"id": given["id"], "name": given["name"], "start_time": datetime.now(UTC).isoformat()}
            self._session |= {"tenant_id": str(uuid.UUID(int=1)), "reference_dataset_id": str(uuid.UUID(int=2))}
        return self._session if path.startswith("/sessions") else {}


def _handler_of(server: LoopbackLangSmith) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._respond()

        def do_POST(self) -> None:
            self._respond()

        def do_PATCH(self) -> None:
            self._respond()

        def _respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            payload = json.dumps(server.respond(self.command, self.path.partition("?")[0], body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its name in the base class
            pass

    return Handler


def run(client: Client, data: Any) -> list[str]:
    """Run the experiment; the lines that say what was scored."""
    retriever = BigramRetriever()
    settings: dict[str, Any] = {"k": (1, 3), "match_method": "id"}
    experiment = client.evaluate(
        lambda inputs: {"documents": retriever.invoke(inputs["question"])},
        data=data,
        evaluators=[as_langsmith_evaluator(metrics=["recall", "mrr", "ndcg"], **settings)],
        summary_evaluators=[as_langsmith_summary_evaluator(**settings)],
        max_concurrency=2,
    )
    experiment.wait()
    scores: dict[str, dict[str, Any]] = {
        str((row["example"].inputs or {})["question"]): {
            score.key: round(float(score.score or 0), 4) for score in row["evaluation_results"]["results"]
        }
        for row in experiment
    }
    client.flush()
    return [f"{question}: {scores[question] or 'no gold documents, no score'}" for question in sorted(scores)]


def main() -> None:
    # To use the real service, set LANGSMITH_API_KEY (and LANGSMITH_ENDPOINT, where it is not the usual one), and name
    # a data set of yours in LANGSMITH_DATASET: its inputs need a `question`, its outputs a list of ids under `gold`.
    if os.environ.get("LANGSMITH_API_KEY") and os.environ.get("LANGSMITH_DATASET"):
        print(*run(Client(), os.environ["LANGSMITH_DATASET"]), sep="\n")
        return
    now, dataset = datetime.now(UTC), uuid.UUID(int=2)
    data = [
        Example(
            id=uuid.uuid4(), dataset_id=dataset, created_at=now, inputs={"question": question}, outputs={"gold": gold}
        )
        for question, gold in ASKED.items()
    ]
    with LoopbackLangSmith() as server:
        print(*run(Client(api_url=server.url, api_key="none", info={}), data), sep="\n")
    of_rows = [row for row in server.feedback if row.get("run_id")]
    of_all = {row["key"]: round(row["score"], 4) for row in server.feedback if not row.get("run_id")}
    print(f"{len(of_rows)} scores went to {len({row['run_id'] for row in of_rows})} runs of the experiment.")
    print("For the whole experiment:", *(f"{key} = {value}" for key, value in sorted(of_all.items())))


if __name__ == "__main__":
    main()

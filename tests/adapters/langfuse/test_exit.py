"""A process that ends without `flush` sends its last scores before Langfuse closes its client."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from examples.loopback_langfuse import LoopbackLangfuse

N = 10
SCRIPT = f"""
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langfuse import Langfuse, get_client
from langfuse.langchain import CallbackHandler

from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_langfuse import LangfuseScoreHandler

class Search(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(query)]

gold = {{f"question {{n}}": [f"question {{n}}"] for n in range({N})}}
def made():
    return RetrievalScoringHandler(gold, k=1, metrics=["recall"], sinks=[LangfuseScoreHandler(FOLLOW)])
"""
CLIENT_FIRST = """
client = get_client()
theirs, ours = CallbackHandler(), made()
"""
CLIENT_LAST = """
ours = made()
theirs = CallbackHandler()
"""
END = """
for question in gold:
    Search().invoke(question, config={"callbacks": [theirs, ours]})
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("body", "n"),
    [
        (SCRIPT.replace("FOLLOW", "client") + CLIENT_FIRST + END, N),
        (SCRIPT.replace("FOLLOW", "") + CLIENT_LAST + END, N),
        (SCRIPT.replace("FOLLOW", "") + CLIENT_LAST + END.replace("in gold", "in list(gold)[:1]"), 1),
    ],
    ids=["client first", "client last", "nothing is sent before the exit"],
)
def test_the_last_live_scores_arrive_though_nobody_flushes(body: str, n: int, tmp_path: Path) -> None:
    with LoopbackLangfuse() as server:
        keys = {
            "LANGFUSE_PUBLIC_KEY": "pk-lf-exit",
            "LANGFUSE_SECRET_KEY": "sk-lf-exit",
            "LANGFUSE_BASE_URL": server.url,
        }
        done = subprocess.run(
            [sys.executable, "-c", body],
            env={**os.environ, **keys},
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert len({score["traceId"] for score in server.scores if score["name"] == "krag.recall_at_1"}) == n

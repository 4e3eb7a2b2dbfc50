"""No test of this folder leaves the machine."""

from __future__ import annotations

import os

# Before langsmith reads them. Port 9 is where nobody listens.
os.environ.update(
    LANGSMITH_ENDPOINT="http://127.0.0.1:9", LANGSMITH_API_KEY="unused-on-loopback", LANGCHAIN_TRACING_V2="false"
)

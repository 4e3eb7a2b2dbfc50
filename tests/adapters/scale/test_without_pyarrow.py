"""Without the extra `arrow`, the package for logs can be imported, and says what its names need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import krag_eval_scale


@pytest.mark.full
@pytest.mark.parametrize("name", ["score_logs", "ColumnarScorer"])
def test_each_name_says_what_to_install(name: str) -> None:
    # A module that is None in sys.modules is one that Python takes for not there.
    code = f"import sys; sys.modules['pyarrow'] = None; import krag_eval_scale; krag_eval_scale.{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith('Install it with: pip install "krag-eval[arrow]"\n')


def test_with_pyarrow_every_name_is_there() -> None:
    assert all(hasattr(krag_eval_scale, name) for name in dir(krag_eval_scale))
    assert "score_logs" in dir(krag_eval_scale)

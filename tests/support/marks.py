"""Marks that several test files use."""

from __future__ import annotations

import pytest

# For tests whose input may have no match at all, and which are about something else.
nothing_may_match = pytest.mark.filterwarnings("ignore:.*Not one ", "ignore:.*Nothing was retrieved")

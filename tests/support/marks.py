"""Marks that several test files use."""

from __future__ import annotations

import pytest

# For tests whose input may have no match at all, and which are about something else.
nothing_may_match = pytest.mark.filterwarnings("ignore:.*Not one ", "ignore:.*Nothing was retrieved")
# For tests that draw labels of a script for which a machine may have no font, and which are about something else.
any_fonts = pytest.mark.filterwarnings("ignore:No installed font has some characters")

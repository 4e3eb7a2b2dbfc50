"""One order of exit and of forks, whoever registers first."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def printed(script: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout, done.stderr


def test_scores_are_made_then_sent_and_loops_end_last_before_what_libraries_registered_in_between() -> None:
    out, err = printed("""
import atexit
from krag_eval._utils.lifecycle import this_process

def fails():
    raise OSError("no disk")

this_process.at_exit("stop", lambda: print("stop"))
this_process.at_exit("send", lambda: print("send first registered"))
this_process.at_exit("send", fails)
this_process.at_exit("send", lambda: print("send last registered"))
this_process.at_exit("score", lambda: print("score"))
atexit.register(print, "a client closes")
this_process.exit_before_others()
""")
    assert out.splitlines() == ["score", "send last registered", "send first registered", "stop", "a client closes"]
    assert err.rstrip().endswith("OSError: no disk")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="need a system that forks")
def test_a_fork_is_prepared_in_reverse_and_its_child_begins_with_what_starts_anew() -> None:
    out, _ = printed("""
import os
from krag_eval._utils.lifecycle import this_process

told = []

class Held:
    def start_anew(self):
        told.append("anew")

held, gone = Held(), Held()
for name in "ab":
    this_process.at_fork(
        before=lambda name=name: told.append(f"before {name}"),
        in_parent=lambda name=name: told.append(f"parent {name}"),
        in_child=lambda name=name: told.append(f"child {name}"),
    )
this_process.renew_when_forked(held)
this_process.renew_when_forked(gone)
del gone
if (child := os.fork()) == 0:
    print(told, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(told)
""")
    assert out.splitlines() == [
        "['before b', 'before a', 'anew', 'child a', 'child b']",
        "['before b', 'before a', 'parent a', 'parent b']",
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="need a system that forks")
@pytest.mark.parametrize("imported", ["first", "last"])
def test_a_worker_of_celery_exits_as_a_process_does(imported: str) -> None:
    ours = """
from krag_eval._utils.lifecycle import this_process
this_process.at_exit("send", lambda: print("sent", flush=True))
"""
    theirs = """
import os, sys, types

class Signal:  # of Celery, whose workers end with os._exit
    receivers = {}

    def connect(self, receiver, weak=True):
        self.receivers[id(receiver)] = receiver
        assert not weak

    def send(self):
        for receiver in self.receivers.values():
            receiver(signal=self, sender=None, pid=1, exitcode=0)

signals = sys.modules["celery.signals"] = types.ModuleType("celery.signals")
signals.worker_process_shutdown = Signal()
"""
    worker = """
if (child := os.fork()) == 0:
    signals.worker_process_shutdown.send()
    os._exit(0)
os.waitpid(child, 0)
print("the parent ends", flush=True)
"""
    out, err = printed((theirs + ours if imported == "first" else ours + theirs) + worker)
    assert (out.splitlines(), err) == (["sent", "the parent ends", "sent"], "")

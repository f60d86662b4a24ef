"""What everything runs on: files, devices, processes, signals, progress, tables."""

from smore.runtime.atomic_file import Bytes, write_atomically
from smore.runtime.cache_folder import default_root
from smore.runtime.device import one_thread, resolve_device, set_threads
from smore.runtime.disk_room import require_room
from smore.runtime.distribution import ALONE, Team, common_team, is_leader, team
from smore.runtime.interruption import StopRequest, stop_requests
from smore.runtime.progress import Pass, ProgressLine, counted_pass, pace, shown_passes
from smore.runtime.stored_tuple import StoredTuple
from smore.runtime.tables import html_table, show, span, told_instant

__all__ = [
    "ALONE",
    "Bytes",
    "Pass",
    "ProgressLine",
    "StopRequest",
    "StoredTuple",
    "Team",
    "common_team",
    "counted_pass",
    "default_root",
    "html_table",
    "is_leader",
    "one_thread",
    "pace",
    "require_room",
    "resolve_device",
    "set_threads",
    "show",
    "shown_passes",
    "span",
    "stop_requests",
    "team",
    "told_instant",
    "write_atomically",
]

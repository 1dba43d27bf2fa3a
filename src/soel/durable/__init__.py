"""Files and folders that are whole or absent, on disk before anyone is told of them; locks; what is ours to delete.

Every lasting write of the package goes through this room, and in it through the steps of `disk`.
"""

from soel.durable.disk_errors import explain, explaining
from soel.durable.files import copy_whole, move, replacing, replacing_path, replacing_text, sync_file, write_whole
from soel.durable.folders import (
    MARK,
    building,
    finish_exchange,
    is_marked,
    mark,
    private_folder,
    remove_all_leftovers,
    remove_leftovers,
    remove_marked,
)
from soel.durable.locks import hold_lock, is_locked, take_lock

__all__ = [
    "MARK",
    "building",
    "copy_whole",
    "explain",
    "explaining",
    "finish_exchange",
    "hold_lock",
    "is_locked",
    "is_marked",
    "mark",
    "move",
    "private_folder",
    "remove_all_leftovers",
    "remove_leftovers",
    "remove_marked",
    "replacing",
    "replacing_path",
    "replacing_text",
    "sync_file",
    "take_lock",
    "write_whole",
]

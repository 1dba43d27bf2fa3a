"""Frames of video clips: found by their packets, decoded in stretches, sought exactly."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import DataError
from soel.images.decode import MAX_PIXELS, Scanned
from soel.images.image_items import DIGITS, MediaItem, Picture, Skipped, check_name, leave_out, number_ids, reason
from soel.plugins import missing_package

# Demuxers that read one file and nothing else: playlists (concat, hls, dash) would open what a file names.
FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegvideo,m4v,mpegts"
SUFFIXES = frozenset({".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg"})


@dataclass(frozen=True)
class Clip:
    """A clip: when each frame is shown, in its own ticks, from the first to the last."""

    path: Path
    name: str
    digest: str
    ticks: tuple[int, ...]
    tick: Fraction

    def time(self, frame: int) -> float:
        return float((self.ticks[frame] - self.ticks[0]) * self.tick)


@dataclass(frozen=True)
class VideoClips:
    """Frames of one clip after the other. frames: for each item the number of its clip and of its frame."""

    name: str
    items: tuple[MediaItem, ...]
    skipped: tuple[Skipped, ...]
    clips: tuple[Clip, ...]
    frames: tuple[tuple[int, int], ...]

    def read(self, rows: Sequence[int]) -> Iterator[Picture | DataError]:
        """The pictures of these rows; rows of one clip that stand together are decoded in one go."""
        for number, stretch in groupby([self.frames[row] for row in rows], key=lambda place: place[0]):
            frames = [frame for _, frame in stretch]
            yield from _complete(self.clips[number], frames)


def read_clips(place: Path, every: int = 1, scanned: Scanned | None = None) -> VideoClips:
    """A clip, or all clips below a folder; every n-th frame is an item."""
    paths = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.suffix.lower() in SUFFIXES)
    clips, skipped = [], []
    for at, path in enumerate(paths):
        name = path.name if place.is_file() else path.relative_to(place).as_posix()
        try:
            check_name(name)
            clips.append(_scan(path, name))
        except (DataError, OSError) as error:
            skipped.append(leave_out(name, error))
        if scanned is not None:
            scanned(at + 1, len(paths))
    frames = tuple((n, frame) for n, clip in enumerate(clips) for frame in range(0, len(clip.ticks), every))
    prefixes = number_ids(clip.digest for clip in clips)
    items = tuple(_item(clips[n], prefixes[n], frame) for n, frame in frames)
    return VideoClips(place.stem if place.is_file() else place.name, items, tuple(skipped), tuple(clips), frames)


def _item(clip: Clip, prefix: str, frame: int) -> MediaItem:
    time = round(clip.time(frame), 6)
    return MediaItem(f"{prefix}-{frame:06d}", f"{clip.name} at {time:.2f} s", clip=clip.name, frame=frame, time=time)


def _scan(path: Path, name: str) -> Clip:
    """Read the packets, not the pictures: that is enough to know every frame and its time."""
    if not path.stat().st_size:
        raise DataError("the file is empty")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:DIGITS]
    with _open(path) as container:
        stream = _stream(container)
        ticks = sorted({packet.pts for packet in container.demux(stream) if packet.pts is not None and packet.size})
        if not ticks:
            raise DataError("it holds no frames")
        return Clip(path, name, digest, tuple(ticks), Fraction(stream.time_base))


def _complete(clip: Clip, frames: Sequence[int]) -> Iterator[Picture | DataError]:
    """One answer per frame, in order, whatever the decoder says."""
    wanted, found = {clip.ticks[frame] for frame in frames}, dict[int, Picture]()
    error = DataError("the frame cannot be decoded")
    try:
        for tick, picture in _decode(clip, wanted):
            found[tick] = picture
    except DataError as broken:
        error = broken
    for frame in frames:
        yield found.get(clip.ticks[frame], error)


def _decode(clip: Clip, wanted: set[int]) -> Iterator[tuple[int, Picture]]:
    """Seek to the key frame before the first wanted frame, then decode up to the last."""
    av = _library()
    with _open(clip.path) as container:
        stream = _stream(container)
        first, last = min(wanted), max(wanted)
        try:
            container.seek(first, stream=stream, backward=True)
            for frame in container.decode(stream):
                if frame.pts in wanted:
                    yield frame.pts, np.ascontiguousarray(frame.to_ndarray(format="rgb24"))
                if frame.pts is not None and frame.pts >= last:
                    return
        except av.FFmpegError as error:
            raise DataError(f"it cannot be decoded: {reason(error)}") from error


def _open(path: Path) -> Any:
    av = _library()
    try:
        return av.open(str(path), options={"format_whitelist": FORMATS, "protocol_whitelist": "file"})
    except (av.FFmpegError, ValueError) as error:
        raise DataError(f"it is not a video that can be read: {reason(error)}") from error


def _stream(container: Any) -> Any:
    if not container.streams.video:
        raise DataError("it holds no pictures")
    stream = container.streams.video[0]
    if stream.codec_context is None:
        raise DataError("nothing here knows how its pictures are packed")
    if stream.width * stream.height > MAX_PIXELS:
        raise DataError(f"{stream.width} x {stream.height} are more than {MAX_PIXELS} pixels")
    stream.thread_count = 1  # clips are decoded side by side; more threads each would only get in the way
    return stream


def _library() -> Any:
    try:
        import av
    except ImportError as error:
        raise missing_package("Videos", "PyAV", "video") from error
    return av

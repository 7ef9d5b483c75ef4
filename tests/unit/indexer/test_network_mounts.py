"""Folders whose files are mapped lie on disks of the machine."""

from pathlib import Path

import pytest

from indexer.disk import require_local
from indexer.segments.options import SegmentsOptions, make_segments
from models.errors import InvalidInput

LOCAL = ["ext4", "xfs", "overlay", "tmpfs", "fuseblk", "fuse.mergerfs"]
NETWORK = ["nfs", "nfs4", "cifs", "smb3", "ceph", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs"]


@pytest.fixture
def mounted(tmp_path: Path):
    """``mounted(type)``: a list of mounts of which one of this type holds ``tmp_path``."""

    def write(kind: str) -> Path:
        mounts = tmp_path / "mounts"
        at = str(tmp_path).replace(" ", "\\040")
        mounts.write_text(
            f"disk / ext4 rw 0 0\nhost:/x {at}x nfs rw 0 0\ndisk {at} ext4 rw 0 0\nhost:/a {at} {kind} rw 0 0\n"
        )
        return mounts

    return write


@pytest.mark.parametrize("kind", LOCAL)
def test_a_local_disk_is_accepted(mounted, tmp_path: Path, kind: str) -> None:
    require_local(tmp_path / "not" / "there", mounted(kind))


@pytest.mark.parametrize("kind", NETWORK)
def test_a_network_mount_is_refused(mounted, tmp_path: Path, kind: str) -> None:
    with pytest.raises(InvalidInput, match=kind) as refused:
        require_local(tmp_path / "not" / "there", mounted(kind))
    assert "SPANSEEK_SEGMENTS_URL" in refused.value.hint


def test_a_link_leads_to_a_network_mount(mounted, tmp_path: Path) -> None:
    mounts = mounted("nfs4")
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    with pytest.raises(InvalidInput, match="nfs4"):
        require_local(link / "data", mounts)


def test_a_system_without_a_list_of_mounts_is_not_asked(tmp_path: Path) -> None:
    require_local(tmp_path, tmp_path / "none")


@pytest.mark.parametrize("network", [True, False])
def test_segments_are_opened_on_a_network_mount_where_that_is_allowed(
    mounted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: bool
) -> None:
    monkeypatch.setattr("indexer.disk._MOUNTS", mounted("nfs4"))
    options = SegmentsOptions(tmp_path / "collections", network=network)
    if network:
        make_segments(options)
        return
    with pytest.raises(InvalidInput, match="network mount"):
        make_segments(options)

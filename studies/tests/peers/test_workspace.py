"""Folders that containers see."""

from studies.peers.workspace import Workspace


def test_a_workspace_leaves_nothing_behind() -> None:
    with Workspace() as workspace:
        workspace.keep("request.json", b"{}")
        folders = workspace.folders("trial", "out")
        assert {mode for _, mode in folders.values()} == {"ro", "rw"}
        assert (folders["/trial"][0] / "request.json").read_bytes() == b"{}"
    assert not workspace.root.exists()

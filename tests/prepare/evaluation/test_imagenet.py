import re
from pathlib import Path

import pytest

from levelfield.prepare.evaluation import imagenet
from levelfield.prepare.evaluation.listing import UnusableError


def folders(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return root


def test_classes_are_the_places_of_sorted_folders(tmp_path: Path) -> None:
    folders(tmp_path, "val/n2/b.JPEG", "val/n1/c.jpeg", "val/n1/notes.txt", "val/.cache/x.JPEG")
    found = imagenet.list_pictures(tmp_path, 2)
    assert [(each.name, each.label) for each in found] == [("n1/c.jpeg", 0), ("n2/b.JPEG", 1)]


def test_a_list_of_classes_says_the_order(tmp_path: Path) -> None:
    folders(tmp_path, "n1/a.jpg", "n2/b.jpg")
    (tmp_path / "classes.txt").write_text("n0\nn2\nn1\n")
    assert [each.label for each in imagenet.list_pictures(tmp_path, 3)] == [2, 1]


def test_a_flat_folder_has_a_file_of_labels(tmp_path: Path) -> None:
    folders(tmp_path, "b.JPEG", "a.JPEG")
    (tmp_path / "val_map.txt").write_text("b.JPEG 65\na.JPEG 970\n")
    found = imagenet.list_pictures(tmp_path, 1000)
    assert [(each.name, each.label) for each in found] == [("a.JPEG", 970), ("b.JPEG", 65)]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("a.JPEG 1000\n", "Line 1 of val_map.txt has the label 1000, and the network tells 1000 classes apart"),
        ("a.JPEG\n", "Line 1 of val_map.txt is not a name and a number: “a.JPEG”."),
        ("a.JPEG -1\n", "is not a name and a number"),
        ("a.JPEG 1\na.JPEG 2\n", "Line 2 of val_map.txt names “a.JPEG” a second time."),
        ("../a.JPEG 1\n", "names a file outside of the folder"),
        ("/etc/passwd 1\n", "names a file outside of the folder"),
        ("\n", "holds no pictures"),
    ],
)
def test_spoiled_labels_are_refused_in_a_sentence(tmp_path: Path, labels: str, said: str) -> None:
    (tmp_path / "val_map.txt").write_text(labels)
    with pytest.raises(UnusableError, match=re.escape(said)):
        imagenet.list_pictures(tmp_path, 1000)


def test_folders_without_known_classes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableError, match="There is no folder “none” of pictures"):
        imagenet.list_pictures(tmp_path / "none", 1000)
    with pytest.raises(UnusableError, match="neither folders of classes nor a file of labels"):
        imagenet.list_pictures(tmp_path, 1000)
    folders(tmp_path, "n1/a.jpg", "n2/b.jpg")
    with pytest.raises(UnusableError, match="has 2 classes, and the network tells 1000 apart: name all of them in a"):
        imagenet.list_pictures(tmp_path, 1000)
    (tmp_path / "classes.txt").write_text("n1\nn3\n")
    with pytest.raises(UnusableError, match=re.escape("The class “n2” is not in classes.txt.")):
        imagenet.list_pictures(tmp_path, 2)

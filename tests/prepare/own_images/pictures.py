"""Small folders of images, as a user may have them."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

COLOURS = {"blue": (90, 90, 160), "green": (90, 160, 90), "red": (160, 90, 90)}


def picture(rng: np.random.Generator, colour: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """Return an image of some size in which one colour is more than noise."""
    height, width = rng.integers(17, 40, 2)
    return np.clip(rng.normal(colour, 60, (height, width, 3)), 0, 255).astype(np.uint8)


def ppm(image: npt.NDArray[np.uint8]) -> bytes:
    return b"P6\n# from a test\n%d %d\n255\n" % (image.shape[1], image.shape[0]) + image.tobytes()


def fill(folder: Path, count: int, seed: int) -> None:
    """Put so many images of each colour into a folder, every second one as a NumPy array."""
    rng = np.random.default_rng(seed)
    for name, colour in COLOURS.items():
        (folder / name).mkdir(parents=True)
        for number in range(count):
            image = picture(rng, colour)
            if number % 2:
                np.save(folder / name / f"{number}.npy", image)
            else:
                (folder / name / f"{number}.ppm").write_bytes(ppm(image))


def two_sided(folder: Path) -> Path:
    """`train/` with 72 images and `val/` with 24, three classes."""
    fill(folder / "train", 24, 1)
    fill(folder / "val", 8, 2)
    return folder


def one_level(folder: Path) -> Path:
    """Three classes of 30 images."""
    fill(folder, 30, 3)
    return folder

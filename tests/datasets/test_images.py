from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from supernetic.datasets import Dataset
from supernetic.datasets.images import as_array, fit, open_image, recolour, size_of, square, upright
from supernetic.errors import DataError

RGB = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)


def save(path: Path, image: Image.Image, **options: object) -> Path:
    image.save(path, **options)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("suffix", ["png", "bmp", "webp", "tif", "ppm"])
def test_lossless_formats_come_back_unchanged(tmp_path: Path, suffix: str) -> None:
    path = save(tmp_path / f"a.{suffix}", Image.fromarray(RGB), **({"lossless": True} if suffix == "webp" else {}))
    image, change = open_image(path)
    assert np.array_equal(np.asarray(image), RGB)
    assert change == ""
    assert size_of(path) == (8, 6)


def test_other_modes_are_converted_and_said_so(tmp_path: Path) -> None:
    rgb = Image.fromarray(RGB)
    cases = {
        "CMYK.tif": (rgb.convert("CMYK"), "RGB", "CMYK images converted to RGB"),
        "P.png": (rgb.quantize(16), "RGB", "palette images converted to RGB"),
        "RGBA.png": (rgb.convert("RGBA"), "RGB", "transparent images laid on white"),
        "LA.png": (rgb.convert("LA"), "L", "transparent images laid on white"),
        "1.png": (rgb.convert("1"), "L", ""),
    }
    for name, (image, mode, change) in cases.items():
        opened, said = open_image(save(tmp_path / name, image))
        assert (opened.mode, said) == (mode, change), name


def test_what_is_transparent_turns_white(tmp_path: Path) -> None:
    clear = np.dstack([RGB, np.zeros((6, 8), dtype=np.uint8)])
    clear[0, 0, 3] = 255
    pixels = np.asarray(open_image(save(tmp_path / "a.png", Image.fromarray(clear)))[0])
    assert np.array_equal(pixels[0, 0], RGB[0, 0])
    assert (pixels[1:] == 255).all()


def test_cameras_that_lay_on_their_side(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise to view
    path = save(tmp_path / "a.png", Image.fromarray(RGB), exif=exif)
    assert np.array_equal(np.asarray(open_image(path)[0]), np.rot90(RGB, -1))


def test_files_that_are_no_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = save(tmp_path / "good.png", Image.fromarray(np.tile(RGB, (20, 20, 1)))).read_bytes()
    jpeg = save(tmp_path / "good.jpg", Image.fromarray(np.tile(RGB, (20, 20, 1)))).read_bytes()
    frames = [Image.fromarray(RGB), Image.fromarray(255 - RGB)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    Image.fromarray(RGB[..., 0].astype(np.uint16) * 256).save(tmp_path / "deep.png")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("hello")
    (tmp_path / "short.png").write_bytes(good[: len(good) // 2])
    (tmp_path / "short.jpg").write_bytes(jpeg[: len(jpeg) // 2])
    (tmp_path / "folder.png").mkdir()
    messages = {
        "moving.gif": "is animated: an image must have one frame, got 2",
        "deep.png": "has the mode I;16",
        "empty.png": "is empty: 0 bytes",
        "text.png": "is not an image",
        "short.png": "cannot be decoded",
        "short.jpg": "cannot be decoded",
        "folder.png": "cannot be decoded: ",
        "none.png": "does not exist",
    }
    for name, message in messages.items():
        with pytest.raises(DataError) as caught:
            open_image(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name} {message}"), name
        assert "\n" not in str(caught.value)
    assert size_of(tmp_path / "text.png") is None
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 40)
    with pytest.raises(DataError, match=r"good\.png is too large: at most 40 pixels"):
        open_image(tmp_path / "good.png")


def test_square_takes_the_centre() -> None:
    wide = np.zeros((4, 12, 3), dtype=np.uint8)
    wide[:, 4:8] = 200
    assert (np.asarray(square(Image.fromarray(wide), 4)) == 200).all()


def test_fit_equals_pillow_image_by_image(embedded: Dataset) -> None:
    some = embedded.images[:5]
    small = fit(some, 14)
    for image, resized in zip(some, small, strict=True):
        expected = Image.fromarray(image[..., 0]).resize((14, 14), Image.Resampling.BICUBIC)
        assert np.array_equal(resized[..., 0], np.asarray(expected))
    assert fit(some, 28) is some


def test_gray_as_pillow_has_it_and_colour_by_repetition() -> None:
    gray = recolour(RGB[None], True)
    assert np.array_equal(gray[0, ..., 0], np.asarray(Image.fromarray(RGB).convert("L")))
    assert np.array_equal(recolour(gray, False), np.repeat(gray, 3, axis=3))
    assert recolour(gray, None) is gray
    assert as_array([Image.fromarray(RGB[:6, :6])], 6, True).shape == (1, 6, 6, 1)


def test_images_opened_elsewhere_are_as_those_from_files(tmp_path: Path) -> None:
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (4, 6, 4), dtype=np.uint8), "RGBA")
    image.save(tmp_path / "a.png")
    opened = upright(image)
    assert opened.mode == "RGB"
    assert opened.tobytes() == open_image(tmp_path / "a.png")[0].tobytes()
    with pytest.raises(DataError, match="mine has the mode F"):
        upright(Image.new("F", (2, 2)), "mine")

"""Single images: reading a file of any common format, cutting to a square, gray and colour."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from ..errors import DataError
from ..reading import open_plain
from .dataset import Images

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pnm"}
PLAIN_MODES = {"1": "L", "L": "L", "RGB": "RGB"}  # modes that lose nothing
CONVERTED_MODES = {"P": "palette", "CMYK": "CMYK", "YCbCr": "YCbCr", "LAB": "LAB", "HSV": "HSV"}
ALPHA_MODES = {"LA", "PA", "La", "RGBA", "RGBa"}
GRAY_MODES = {"1", "L", "LA", "La"}  # that become gray, all others become colour


def open_image(path: Path) -> tuple[Image.Image, str]:
    """A decoded image, gray or RGB and upright.

    Args:
        path: the file.

    Returns:
        The image, and what was converted ("" if nothing was).
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd metadata; pixels that cannot be decoded raise
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with open_plain(path) as file, Image.open(file) as image:
                if getattr(image, "n_frames", 1) > 1:
                    raise DataError(f"{path} is animated: an image must have one frame, got {image.n_frames}")  # type: ignore[attr-defined]
                image.load()
                return to_plain(str(path), ImageOps.exif_transpose(image))
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except UnidentifiedImageError:
        empty = path.stat().st_size == 0
        raise DataError(f"{path} {'is empty: 0 bytes' if empty else 'is not an image that can be read'}") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise DataError(f"{path} is too large: at most {Image.MAX_IMAGE_PIXELS:,} pixels are read") from None
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, MemoryError) as error:
        # Pillow's decoders raise all of these for damaged files
        why = getattr(error, "strerror", "") or str(error) or type(error).__name__
        raise DataError(f"{path} cannot be decoded: {why}") from None


def to_plain(what: str, image: Image.Image) -> tuple[Image.Image, str]:
    """A decoded image as 8-bit gray or RGB.

    Args:
        what: the image, for messages.
        image: an image of any mode.

    Returns:
        The image, and what was converted ("" if nothing was).
    """
    if 0 in image.size:
        raise DataError(f"{what} has no pixels: its size is {image.width}x{image.height}")
    if image.mode in PLAIN_MODES:
        return image.convert(PLAIN_MODES[image.mode]), ""
    if image.mode in ALPHA_MODES or "transparency" in image.info:
        gray = image.mode in ("LA", "La")
        on_white = Image.new("RGBA", image.size, "white")
        on_white.alpha_composite(image.convert("RGBA"))
        return on_white.convert("L" if gray else "RGB"), "transparent images laid on white"
    if image.mode in CONVERTED_MODES:
        return image.convert("RGB"), f"{CONVERTED_MODES[image.mode]} images converted to RGB"
    raise DataError(f"{what} has the mode {image.mode}: 8-bit gray, RGB, CMYK, palette or alpha images are read")


def size_of(path: Path) -> tuple[int, int] | None:
    """The size of an image, from its header.

    Args:
        path: the file.

    Returns:
        Width and height; None if there is no header to read (`open_image` will say why).
    """
    header = header_of(path)
    return None if header is None else header[0]


def header_of(path: str | Path) -> tuple[tuple[int, int], bool] | None:
    """What an image will be, from its header: nothing is decoded.

    Args:
        path: the file.

    Returns:
        Width and height, and whether `to_plain` will make it gray; None if there is no header to read.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with open_plain(path) as file, Image.open(file) as image:
                return image.size, image.mode in GRAY_MODES
    except Exception:  # damaged headers raise anything; the error for the user comes from decoding
        return None


def square(image: Image.Image, resolution: int) -> Image.Image:
    """The centre of an image as a square (bicubic, with antialiasing).

    Args:
        image: an image of any size.
        resolution: pixels of the square.

    Returns:
        The square.
    """
    if image.size == (resolution, resolution):
        return image
    return ImageOps.fit(image, (resolution, resolution), Image.Resampling.BICUBIC)


def as_array(images: Sequence[Image.Image], resolution: int, gray: bool) -> Images:
    """Images of one size as an array.

    Args:
        images: images of that size.
        resolution: pixels.
        gray: one channel, else three.

    Returns:
        N x H x W x C.
    """
    out = np.empty((len(images), resolution, resolution, 1 if gray else 3), dtype=np.uint8)
    for i, image in enumerate(images):
        out[i] = np.asarray(image.convert("L" if gray else "RGB")).reshape(out[i].shape)
    return out


def fit(images: Images, resolution: int) -> Images:
    """`square` over an array.

    Args:
        images: N x H x W x C.
        resolution: pixels.

    Returns:
        N x `resolution` x `resolution` x C.
    """
    if images.shape[1:3] == (resolution, resolution):
        return images
    gray = images.shape[3] == 1
    resized = [square(Image.fromarray(image[..., 0] if gray else image), resolution) for image in images]
    return as_array(resized, resolution, gray)


def recolour(images: Images, gray: bool | None) -> Images:
    """Gray from colour by ITU-R 601 luma, colour from gray by repetition.

    Args:
        images: N x H x W x C.
        gray: True for one channel, False for three; None leaves them as they are.

    Returns:
        The images with that many channels.
    """
    if gray and images.shape[3] == 3:
        out = np.empty((*images.shape[:3], 1), dtype=np.uint8)
        weights = np.array([19595, 38470, 7471], dtype=np.uint32)  # of 2^16, as Pillow rounds
        for at in range(0, len(images), 4096):
            out[at : at + 4096, ..., 0] = (images[at : at + 4096].astype(np.uint32) @ weights + 0x8000) >> 16
        return out
    if gray is False and images.shape[3] == 1:
        return np.repeat(images, 3, axis=3)
    return images


def upright(image: Image.Image, name: str = "the image") -> Image.Image:
    """An image that was opened elsewhere, as `open_image` gives it: gray or RGB, upright, decoded.

    Args:
        image: Any Pillow image.
        name: What to call it in an error.

    Returns:
        The image itself, or a converted copy.
    """
    return to_plain(name, ImageOps.exif_transpose(image))[0]

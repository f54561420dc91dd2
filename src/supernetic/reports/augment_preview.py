"""The preview of augmented training images on the page: one embedded sheet, shown as pictures with gaps between."""

from __future__ import annotations

from ..runs.records import AugmentRecord

GAP = 0.08  # between pictures, in widths of a picture
ROW_GAP = 0.24  # below the images themselves


def preview(record: AugmentRecord) -> str:
    """The pictures of a preview.

    Args:
        record: The record, whose sheet was checked when it was read.

    Returns:
        An SVG element; it needs nothing but itself.
    """
    width = record.columns + (record.columns - 1) * GAP
    height = record.rows + (record.rows - 1) * GAP + (ROW_GAP - GAP if record.rows > 1 else 0)
    size = f'width="{record.columns}" height="{record.rows}" preserveAspectRatio="none" image-rendering="pixelated"'
    sheet = f'<image id="sheet" {size} href="data:image/png;base64,{record.sheet}"/>'
    pictures = "".join(_picture(column, row) for row in range(record.rows) for column in range(record.columns))
    title = f"{record.columns} training images, and below each of them augmented versions"
    return (
        f'<svg class="preview" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{title}">'
        f"<defs>{sheet}</defs>{pictures}</svg>"
    )


def _picture(column: int, row: int) -> str:
    """A window on the sheet; what lies outside of it is cut off."""
    x, y = column * (1 + GAP), row * (1 + GAP) + (ROW_GAP - GAP if row else 0)
    return f'<svg x="{x:g}" y="{y:g}" width="1" height="1" viewBox="{column} {row} 1 1"><use href="#sheet"/></svg>'

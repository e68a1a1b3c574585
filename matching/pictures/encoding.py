"""Pictures as JPEG, for pages and sheets that people look at."""

import io

from PIL import Image

SCREEN_QUALITY = 88  # high enough that nobody sees a difference on a screen
TRAINING_QUALITY = 95  # of frames that models learn from


def encode_jpeg(image: Image.Image, quality: int = SCREEN_QUALITY, comment: bytes = b"") -> bytes:
    """Encode a picture as JPEG."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, optimize=True, comment=comment)
    return buffer.getvalue()

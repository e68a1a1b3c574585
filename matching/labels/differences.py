"""Where objects differ, exported as labels of both pictures."""

import math
from collections.abc import Sequence

from matching.drivers.result import Result
from matching.labels.formats import FORMATS, check_twins
from matching.labels.places import Place, round_outline
from matching.labels.record import LabelledPicture
from matching.objects.confidence import measure_certainty
from matching.output.exchange import list_picture_names
from matching.output.export_formats import FORMATS as EXPORT_FORMATS
from matching.pictures.images import Picture


def encode_differences(form: str, pictures: Sequence[Picture], result: Result) -> dict[str, bytes]:
    """Encode where objects differ as labels of both pictures, in a format of `matching.labels.formats`.

    A difference has the same number (`track_id` of COCO, `group_id` of LabelMe) in both pictures.
    """
    found = [(one, item.rank) for item in result.objects for one in item.differences]
    labelled = []
    for k, (name, picture) in enumerate(zip(list_picture_names(pictures), pictures, strict=True)):
        places = tuple(
            Place(
                "difference",
                round_outline((one.polygon0, one.polygon1)[k]),
                round(measure_certainty(-one.evidence / math.log(10)), 4),
                rank,
                same=False,
                track=number,
            )
            for number, (one, rank) in enumerate(found, 1)
        )
        labelled.append(LabelledPicture(k, name, None, picture.width, picture.height, places))
    (target,) = EXPORT_FORMATS[form].files
    return {target: FORMATS[form].encode(labelled, ["difference"])}


def check_labels(pictures: Sequence[Picture]) -> None:
    """Check that the labels of two pictures have files of different names."""
    check_twins(list_picture_names(pictures))

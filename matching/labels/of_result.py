"""Labels of one result as files: the places where a picture shows things of another picture."""

from matching.drivers.result import Result
from matching.labels.formats import FORMATS
from matching.labels.places import Place, choose_places, find_places, make_place
from matching.labels.record import LabelledPicture
from matching.objects.description import add_comparison
from matching.output.words import name_picture
from matching.pictures.images import Picture


def label_result(result: Result, pictures: tuple[Picture, Picture]) -> LabelledPicture:
    """Label the second picture with the things of the first one, or one picture with its repeats."""
    thing, scene = pictures
    name, size = name_picture(thing.path), (scene.width, scene.height)
    places: list[Place] = []
    for item in (item for item in result.things if result.is_single_picture and not item.periodic):
        best = max((o for o in result.objects if o.thing == item.number), key=lambda found: found.score)
        for k, outline in enumerate(item.places):
            is_same = False if k in item.alike else best.is_same or None
            places.append(make_place(f"thing {item.number}", outline, add_comparison(best, is_same)))
    for found in () if result.is_single_picture else result.objects:
        called = name if found.is_whole else f"thing {found.thing} of {name}"
        places += find_places(called, [found], None, thing.box, size)
    chosen = places if result.is_single_picture else choose_places(places)
    path = "picture" if scene.path is None else scene.path.name
    return LabelledPicture(0, path, None, *size, tuple(chosen))


def encode_labels(picture: LabelledPicture) -> dict[str, bytes]:
    """Encode labels in all formats: contents by file name; equal labels give equal bytes."""
    classes = sorted({place.name for place in picture.places})
    return {row.result_file: row.encode([picture], classes) for row in FORMATS.values()}

"""Uploaded pictures: what is taken, what comes out of it, and what is refused."""

import random
import struct
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from threading import Event, Thread
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from infra.waiting import NoThreadFreeError, waiting_for
from tests.wallet.pictures import GREY, GREY_ALPHA, RGB, RGBA, costly, decoder, deep, picture, png
from wallet.identity import picture_decoder, picture_encoding
from wallet.identity.picture_decoder import MOST_SCANS, answer, scans
from wallet.identity.picture_encoding import NotInTimeError, PictureError, cleaned


def read(data: bytes) -> Image.Image:
    return Image.open(BytesIO(data))


def with_exif(**tags: object) -> bytes:
    exif = Image.Exif()
    for tag, value in tags.items():
        exif[int(tag[1:])] = value
    exif.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)  # GPS latitude
    return picture(exif=exif)


@pytest.mark.parametrize(("kind", "mode"), [("JPEG", "RGB"), ("PNG", "RGBA"), ("PNG", "P"), ("WEBP", "RGB")])
def test_what_comes_out_is_a_jpeg_of_our_own(kind: str, mode: str) -> None:
    found = read(cleaned(picture(kind=kind, mode=mode)))
    assert (found.format, found.size, found.mode) == ("JPEG", (800, 600), "RGB")


def test_nothing_of_the_metadata_is_kept_and_the_picture_is_turned_upright() -> None:
    found = read(cleaned(with_exif(t274=6, t305="A phone", t40092="secret comment".encode("utf-16-le"))))
    assert found.size == (600, 800)
    assert not found.getexif()
    assert "exif" not in found.info
    assert found.getpixel((590, 10))[0] > 200
    assert found.getpixel((590, 10))[1] < 100  # red is where it belongs


def test_what_is_appended_or_hidden_in_a_picture_is_gone() -> None:
    archive = BytesIO()
    with ZipFile(archive, "w") as zipped:
        zipped.writestr("evil.html", "<script>alert(1)</script>" * 20)
    polyglot = picture(comment=b"<script>alert(2)</script>") + archive.getvalue()
    found = cleaned(polyglot)
    assert b"script" not in found
    assert b"PK" not in found[-200:]


def test_large_pictures_become_smaller() -> None:
    assert read(cleaned(picture((5000, 3000)))).size == (2400, 1440)


def animated() -> bytes:
    written = BytesIO()
    frames = [Image.new("RGB", (400, 400), colour) for colour in ("red", "blue")]
    frames[0].save(written, "PNG", save_all=True, append_images=frames[1:])
    return written.getvalue()


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: b"", "format"),
        (lambda: b"\0" * 50_000_000, "too_long"),
        (lambda: b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "format"),
        (lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n", "format"),
        (lambda: b"%PDF-1.7\n", "format"),
        (lambda: picture(kind="GIF", mode="P"), "format"),
        (lambda: picture(kind="TIFF"), "format"),
        (lambda: picture(kind="BMP"), "format"),
        (lambda: picture()[:2000], "incomplete"),
        (lambda: picture((200, 900)), "too_small"),
        (lambda: png(30_000, 30_000), "too_large"),
        (lambda: png(6000, 5000), "too_large"),
        (animated, "format"),
        (costly, "too_costly"),
    ],
)
def test_everything_else_is_refused_with_a_reason(make: Callable[[], bytes], code: str) -> None:
    with pytest.raises(PictureError) as refused:
        cleaned(make())
    assert refused.value.code == code


@given(st.integers(0, 2**32), st.sampled_from(["JPEG", "PNG", "WEBP"]))
def test_a_damaged_picture_is_refused_or_comes_out_clean(seed: int, kind: str) -> None:
    chance = random.Random(seed)
    data = bytearray(picture((320, 320), kind))
    for _time in range(chance.randrange(1, 20)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    code, _, jpeg = answer(bytes(data)).partition(b"\n")
    if code != b"ok":
        assert code in (b"format", b"incomplete", b"too_large", b"too_small", b"too_costly", b"blank")
        return
    found = read(jpeg)
    assert (found.format, found.mode) == ("JPEG", "RGB")
    assert max(found.size) <= picture_decoder.SIDE


def test_of_a_file_with_several_pictures_the_first_is_taken() -> None:
    colours = [Image.new("RGB", (size, size), name) for size, name in ((800, "green"), (400, "blue"))]
    written = BytesIO()
    colours[0].save(written, "MPO", save_all=True, append_images=colours[1:])  # as phones do, named .jpeg
    assert read(written.getvalue()).format == "MPO"
    found = read(cleaned(written.getvalue()))
    assert found.size == (800, 800)
    assert found.getpixel((400, 400)) == pytest.approx((0, 128, 0), abs=3)


# --- What stays visible ------------------------------------------------------------------------------------


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    written = BytesIO()
    image.save(written, kind, **options)
    return written.getvalue()


def drawn(mode: str, ground: object, *parts: tuple[object, tuple[int, int, int, int]]) -> Image.Image:
    """A picture of one colour on which rectangles of others lie."""
    image = Image.new(mode, (400, 400), ground)
    for colour, box in parts:
        image.paste(colour, box)
    return image


def in_palette(ground: int) -> bytes:
    """A black square beside the transparent index, whose colour is that grey."""
    image = drawn("P", 1, (0, (50, 50, 150, 150)))
    image.putpalette([0, 0, 0, ground, ground, ground])
    return saved(image, transparency=1)


MIDDLE, CORNER = (150, 150, 250, 250), (50, 50, 120, 120)
CLEAR = (90, 90, 90, 0)


@pytest.mark.parametrize(
    "data",
    [
        deep(GREY, (0x2000,), (0xE000,)),
        deep(GREY, (300,), (60_000,)),
        deep(GREY, (0x2000,), (0xE000,), tRNS=b"\x20\x00"),
        deep(RGB, (0x2000,) * 3, (0xE000,) * 3),
        deep(RGB, (0x00FF,) * 3, (0xFFFF,) * 3, tRNS=b"\xff\x00" * 3),
        deep(GREY_ALPHA, (0, 0xFFFF), (0, 0x0000)),
        deep(GREY_ALPHA, (0xFFFF, 0xFFFF), (0xFFFF, 0x0000)),
        deep(RGBA, (0xFFFF,) * 4, (0xFFFF, 0xFFFF, 0xFFFF, 0)),
        saved(drawn("RGBA", CLEAR, ("black", MIDDLE))),
        saved(drawn("RGBA", CLEAR, ("white", MIDDLE))),
        saved(drawn("RGBA", CLEAR, ((0, 0, 0, 90), MIDDLE))),
        saved(drawn("RGBA", CLEAR, ("white", MIDDLE)), "WEBP", lossless=True),
        saved(drawn("LA", (0, 0), ((255, 255), MIDDLE))),
        saved(drawn("L", 255, (254, MIDDLE)), transparency=254),
        saved(drawn("RGB", "white", ("black", MIDDLE)), transparency=(0, 0, 0)),
        saved(drawn("1", 1, (0, MIDDLE))),
        in_palette(255),
        in_palette(0),
        saved(drawn("CMYK", (0, 0, 0, 0), ((0, 0, 0, 255), MIDDLE)), "JPEG"),
        saved(drawn("L", 255, (0, MIDDLE)), "JPEG"),
    ],
)
def test_what_can_be_seen_in_a_picture_can_be_seen_in_the_one_that_is_kept(data: bytes) -> None:
    code, _, jpeg = answer(data).partition(b"\n")
    assert code == b"ok"
    assert max(high - low for low, high in read(jpeg).getextrema()) > 80


def test_samples_of_sixteen_bits_keep_their_shade() -> None:
    found = read(answer(deep(GREY, (0x4000,), (0xC000,))).partition(b"\n")[2])
    assert found.getpixel((50, 200)) == pytest.approx((0x40,) * 3, abs=3)
    assert found.getpixel((350, 200)) == pytest.approx((0xC0,) * 3, abs=3)


@pytest.mark.parametrize(
    "data",
    [
        deep(GREY, (0,), (255,)),
        deep(GREY, (0,), (4095,)),
        deep(GREY, (0xFFF0,), (0xFFFF,)),
        deep(RGB, (0, 0, 0), (4095, 4095, 4095)),
        deep(GREY_ALPHA, (0, 0), (0xFFFF, 0)),
        deep(RGBA, (0, 0, 0, 0x0300), (0xFFFF, 0xFFFF, 0xFFFF, 0x0300)),
        saved(Image.new("RGBA", (400, 400), (0, 0, 0, 0))),
        saved(Image.new("RGBA", (400, 400), (255, 255, 255, 0)), "WEBP", lossless=True),
        saved(drawn("RGBA", CLEAR, ((255, 0, 0, 0), MIDDLE))),
        saved(drawn("RGBA", CLEAR, ((0, 0, 0, 5), MIDDLE))),
        saved(drawn("LA", (0, 0), ((255, 0), MIDDLE))),
        saved(drawn("CMYK", (0, 0, 0, 255), ((0, 200, 0, 255), MIDDLE)), "JPEG"),
    ],
)
def test_a_picture_in_which_nothing_would_be_seen_is_refused(data: bytes) -> None:
    assert answer(data) == b"blank"


def test_of_ink_in_black_and_in_white_both_stay_visible() -> None:
    ink = drawn("RGBA", CLEAR, ("black", MIDDLE), ("white", CORNER))
    found = read(answer(saved(ink)).partition(b"\n")[2]).convert("L")
    ground, black, white = (found.getpixel(place) for place in ((350, 350), (200, 200), (80, 80)))
    assert black + 50 < ground < white - 50


def test_what_somebody_made_transparent_is_not_shown() -> None:
    erased = drawn("RGBA", (255, 255, 255, 255), ((200, 0, 0, 0), MIDDLE), ("black", CORNER))
    found = read(answer(saved(erased)).partition(b"\n")[2])
    red, green, blue = found.getpixel((200, 200))
    assert red == pytest.approx(green, abs=3)
    assert red == pytest.approx(blue, abs=3)


def test_a_page_of_one_colour_has_lost_nothing() -> None:
    assert answer(saved(Image.new("RGB", (400, 400), "white"))).startswith(b"ok\n")
    assert answer(saved(Image.new("RGBA", (400, 400), (9, 9, 9, 255)))).startswith(b"ok\n")


@given(
    st.tuples(*[st.integers(0, 255)] * 4),
    st.tuples(*[st.integers(0, 255)] * 4),
    st.sampled_from(["PNG", "WEBP"]),
)
def test_two_colours_that_can_be_told_apart_still_can_or_the_picture_is_refused(
    ground: tuple[int, ...], ink: tuple[int, ...], kind: str
) -> None:
    image = drawn("RGBA", ground, (ink, MIDDLE), (ink, CORNER))
    code, _, jpeg = answer(saved(image, kind, lossless=True)).partition(b"\n")
    over = [
        [alpha * (sample - back) // 255 + back for *samples, alpha in (ground, ink) for sample in samples]
        for back in (0, 255)
    ]
    apart = max(abs(colours[band] - colours[band + 3]) for colours in over for band in range(3))
    if code == b"ok" and (ground[3], ink[3]) != (255, 255):
        assert max(high - low for low, high in read(jpeg).getextrema()) >= apart // 4
    if apart > 60:
        assert code == b"ok"


def test_a_broken_orientation_does_not_make_a_good_picture_unusable() -> None:
    broken = b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + b"\x12\x01\x0a\0\xff\xff\xff\xff\0" * 3
    assert cleaned(picture(exif=broken))
    assert cleaned(picture(kind="PNG", exif=broken[6:]))


# --- Files that are not complete, or of another format ----------------------------------------------------


@pytest.mark.parametrize(
    ("data", "least"),
    [
        (picture(), 4),
        (picture(progressive=True), 4),
        (picture(exif=b"Exif\0\0" + b"\xff\xd9" * 50), 4),
        (picture(kind="PNG"), 4),
        (picture(kind="WEBP"), 4),
        (picture(kind="WEBP", lossless=True), 4),
    ],
    ids=["JPEG", "progressive", "with metadata", "PNG", "WebP", "lossless WebP"],
)
def test_a_picture_without_its_last_bytes_is_not_complete(data: bytes, least: int) -> None:
    assert answer(data).startswith(b"ok\n")
    for length in (*range(least, 40), *range(40, len(data) - 30, 97), *range(len(data) - 30, len(data) - 4)):
        assert answer(data[:length]) == b"incomplete", length


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_a_jpeg_whose_data_ends_early_is_not_complete_although_it_has_an_end(mode: str) -> None:
    data = saved(Image.effect_noise((800, 600), 60).convert(mode), "JPEG")
    assert answer(data).startswith(b"ok\n")
    for left in (0.3, 0.5, 0.9):
        assert answer(data[: int(len(data) * left)] + b"\xff\xd9") == b"incomplete"


@pytest.mark.parametrize("options", [{}, {"subsampling": 2}, {"optimize": True}, {"progressive": True}])
@pytest.mark.parametrize("grey", [0, 127, 128, 255])
def test_a_picture_with_a_plain_lower_edge_is_complete(grey: int, options: dict[str, object]) -> None:
    image = Image.effect_noise((400, 400), 60).convert("RGB")
    image.paste((grey,) * 3, (0, 300, 400, 400))
    assert answer(saved(image, "JPEG", **options) + b"appended").startswith(b"ok\n")


def test_a_picture_that_is_damaged_and_complete_is_not_called_incomplete() -> None:
    data = bytearray(picture(kind="PNG"))
    data[60] ^= 0xFF
    assert answer(bytes(data)) == b"format"


def box(*brands: bytes) -> bytes:
    """The first box of a file in the ISO base media format: the main brand, a version, compatible ones."""
    body = b"ftyp" + brands[0] + b"\0\0\0\0" + b"".join(brands[1:])
    return struct.pack(">I", len(body) + 4) + body + b"\0\0\0\x10meta" + b"\0" * 100


@pytest.mark.parametrize(
    "brands",
    [
        *([name] for name in b"heic heix heim heis hevc hevx hevm hevs mif1 msf1 heif avif avis".split()),
        [b"XXXX", b"mif1", b"heic"],
        [b"crx ", b"isom", b"avif"],
    ],
    ids=lambda brands: b" ".join(brands).decode(),
)
def test_whoever_sends_what_a_camera_writes_instead_of_a_jpeg_is_told_so(brands: list[bytes]) -> None:
    for data in (box(*brands), box(*brands)[: 16 + 4 * len(brands)]):
        with pytest.raises(PictureError, match="heic"):
            cleaned(data)


@pytest.mark.parametrize("brands", [[b"isom", b"mp42"], [b"qt  "], [b"M4A ", b"heyc"]])
def test_films_and_sounds_are_only_called_no_picture(brands: list[bytes]) -> None:
    assert not picture_encoding.is_heic(box(*brands))


@given(st.binary(max_size=300), st.binary(min_size=4, max_size=4))
def test_whatever_follows_ftyp_is_read_to_its_end(rest: bytes, length: bytes) -> None:
    assert picture_encoding.is_heic(length + b"ftyp" + rest) in (True, False)


def test_a_picture_of_two_hundred_million_pixels_is_decoded_smaller() -> None:
    assert read(cleaned(picture((16_320, 12_240), mode="L", quality=30))).size == (2400, 1800)


@pytest.mark.parametrize("progressive", [True, False])
def test_a_jpeg_that_is_decoded_line_by_line_may_be_larger_than_others(progressive: bool) -> None:
    data = picture((7000, 6000), mode="L", progressive=progressive)
    code, _, jpeg = answer(data).partition(b"\n")
    assert code == (b"too_large" if progressive else b"ok")
    assert progressive or read(jpeg).size == (2400, 2057)


# --- What a picture may cost -------------------------------------------------------------------------------


def segment(code: int, data: bytes) -> bytes:
    return bytes([0xFF, code]) + struct.pack(">H", len(data) + 2) + data


@given(
    st.lists(st.tuples(st.sampled_from([0xE0, 0xE1, 0xEF, 0xFE]), st.binary(max_size=30))),
    st.integers(0, 40),
    st.binary(),
    st.booleans(),
)
def test_scans_are_counted_wherever_they_are_and_nothing_else_is(
    segments: list[tuple[int, bytes]], more: int, appended: bytes, progressive: bool
) -> None:
    hidden = b"".join(segment(code, data + b"\xff\xda" * 3) for code, data in segments)
    plain = picture((16, 16), progressive=progressive)
    scan = segment(0xDA, b"\x01\x01\0\x01\x3f\0") + b"\xff\0" + b"\xff\xd0\x12"
    data = plain[:2] + hidden + plain[2:-2] + (b"\xff\xff" + scan + hidden) * more + plain[-2:]
    assert scans(data + appended + b"\xff\xda") == (10 if progressive else 1) + more


@given(st.binary(), st.lists(st.sampled_from([b"\xff", b"\xda", b"\xd9", b"\xe1", b"\0", b"\xff\xda\0\x02"])))
def test_any_bytes_have_at_most_as_many_scans_as_markers(start: bytes, parts: list[bytes]) -> None:
    data = start + b"".join(parts)
    assert 0 <= scans(data) <= data.count(b"\xff\xda")


def test_the_scans_of_an_ordinary_progressive_picture_are_far_below_the_limit() -> None:
    assert scans(picture(progressive=True)) == 10
    assert scans(picture(mode="CMYK", progressive=True)) == 18
    assert scans(costly(400, MOST_SCANS - 6)) == MOST_SCANS
    assert read(cleaned(costly(400, MOST_SCANS - 6))).size == (400, 400)


ENDLESS = "d.answer = lambda data: [0 for _ in iter(int, 1)]"


@pytest.mark.parametrize(
    "lines",
    [
        (ENDLESS, "d.LIMITS[resource.RLIMIT_CPU] = 1"),
        ("d.LIMITS[resource.RLIMIT_AS] = 250 * 1024 * 1024",),
        ("d.answer = lambda data: os.kill(os.getpid(), 11)",),
    ],
    ids=["it computes without end", "it needs more memory", "it crashes"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="could not run without the limits of Linux")
def test_a_decoder_that_exceeds_a_limit_is_ended(
    monkeypatch: pytest.MonkeyPatch, lines: tuple[str, ...]
) -> None:
    decoder(monkeypatch, *lines)
    with pytest.raises(PictureError, match="too_costly"):
        cleaned(picture((5000, 5000), "PNG"))


@pytest.mark.parametrize("late", ["os.read(0, 1); signal.pause()", "signal.pause()"])
def test_a_decoder_for_which_the_machine_has_no_time_says_nothing_about_the_picture(
    monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    decoder(monkeypatch, "import signal", late)
    monkeypatch.setattr(picture_encoding, "DONE_WITHIN", 0.5)
    with pytest.raises(NotInTimeError):
        cleaned(picture() + bytes(1_000_000))


def test_a_decoder_is_not_waited_for_after_the_person_has_waited_long_enough() -> None:
    with pytest.raises(NotInTimeError):
        cleaned(costly(), until=0.0)


def test_a_decoder_that_writes_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder(monkeypatch, "[os.write(1, bytes(9**5)) for _ in iter(int, 1)]")
    monkeypatch.setattr(picture_encoding, "LONGEST_MADE", 1000)
    with pytest.raises(PictureError, match="too_costly"):
        cleaned(picture())


def test_a_decoder_that_cannot_start_is_a_fault_of_ours_and_not_of_the_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoder(monkeypatch, "import nothing_that_exists")
    with pytest.raises(OSError, match="ended with 1"):
        cleaned(picture())


@pytest.mark.skipif(sys.platform != "linux", reason="could not run without the limits of Linux")
def test_the_decoder_knows_no_secret_and_has_every_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    told = "{**os.environ}, os.getcwd(), [resource.getrlimit(kind) for kind in d.LIMITS]"
    decoder(monkeypatch, f"d.answer = lambda data: b'ok\\n' + repr(({told})).encode()")
    variables, folder, limits = eval(cleaned(b"a picture"))
    assert set(variables) <= {"LC_CTYPE"}  # which Python sets
    assert folder == "/"
    assert limits == [(10, 10), (768 * 1024 * 1024,) * 2, (0, 0), (0, 0)]


def test_the_decoder_imports_nothing_of_the_service() -> None:
    program = "import sys, runpy; runpy.run_path(sys.argv[1]); print(*sys.modules)"
    command = [sys.executable, "-I", "-c", program, picture_decoder.__file__]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "PIL.Image" in loaded
    assert not {"django", "wallet", "infra", "config"} & set(loaded)


def test_while_a_thread_decodes_every_other_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    entered, ended = Event(), Event()
    refusals: list[str] = []

    def decode() -> None:
        with picture_encoding.reserved():
            entered.set()
            assert ended.wait(60)
            cleaned(picture())  # the thread itself may
            refusals.append("not the first")

    first = Thread(target=decode)
    first.start()
    assert entered.wait(60)
    for _time in range(16):
        with picture_encoding.reserved(), pytest.raises(NoThreadFreeError):
            cleaned(picture())
    ended.set()
    first.join()
    assert refusals == ["not the first"]
    assert cleaned(picture())


def test_nothing_is_decoded_while_as_many_threads_wait_for_others_as_may(settings: object) -> None:
    with waiting_for("slow"), waiting_for("slow"), pytest.raises(NoThreadFreeError):  # of four threads
        cleaned(picture())
    assert cleaned(picture())

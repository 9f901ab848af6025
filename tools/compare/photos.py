"""Decoded photos of every format and orientation beside Pillow's: the largest difference of a pixel.

PHOTO adds photos to the made-up ones. The subject weights compares what resizing and cropping make of photos.
"""
import io
import pathlib
import subprocess

from common import Package, check, result

NEEDS = ["numpy", "PIL"]
np, Image, ImageOps, features = Package("numpy"), Package("PIL.Image"), Package("PIL.ImageOps"), Package("PIL.features")


def add_options(parser):
    parser.add_argument("photos", nargs="*", type=pathlib.Path, metavar="PHOTO")


def made_up(width, height, seed=1):
    """Smooth colours with some noise, so that compression has something to do."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 100 * np.sin(x / (7 + c) + c) * np.cos(y / (11 - c)) for c in range(3)]
    pixels = np.stack(planes, -1) + rng.normal(0, 6, (height, width, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def on_white(image):
    """RGB of an image; alpha is blended with white in linear light."""
    if image.mode.startswith("I"):  # 16 bits
        return np.repeat((np.asarray(image).astype(int) // 257)[..., None], 3, -1)
    if image.mode in ("P", "LA") or "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode != "RGBA":
        return np.asarray(image.convert("RGB")).astype(int)
    values = np.asarray(image) / 255.0
    alpha, srgb = values[..., 3:], values[..., :3]
    light = alpha * np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4) + (1 - alpha)
    return np.rint(255 * np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)).astype(int)


def compare(args, path, name, limit):
    wanted = on_white(ImageOps.exif_transpose(Image.open(path)))
    done = subprocess.run([args.tools / "decode_photo", path], capture_output=True)
    if done.returncode != 0:
        return check(f"{name}: {done.stderr.decode().strip()}", False)
    found = np.asarray(Image.open(io.BytesIO(done.stdout))).astype(int)
    apart = int(abs(found - wanted).max()) if found.shape == wanted.shape else 255
    check(f"{name:40s} {apart:3d}, limit {limit}", apart <= limit)


def kinds():
    """Name, ending, image, options of PIL, largest difference of a value."""
    rgb, lossless = made_up(61, 47), {"lossless": True}
    grey, palette = rgb.convert("L"), rgb.quantize(40)
    rows, columns = np.mgrid[0:47, 0:61]
    rgba, cut = rgb.copy(), rgb.copy()
    rgba.putalpha(Image.fromarray((columns * 4 % 256).astype(np.uint8)))
    cut.putalpha(Image.fromarray(((rows > 20) * 255).astype(np.uint8)))
    bits, wide = grey.convert("1"), Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    for ending, alpha_limit in (("png", 3), ("bmp", 1), ("tif", 2)):  # libpng blends dark colours by coarse tables
        for name, image in (("RGB", rgb), ("grey", grey), ("palette", palette), ("one bit", bits)):
            yield name, ending, image, {}, 0
        yield "alpha", ending, rgba, {}, alpha_limit
    for ending in ("png", "tif"):
        yield "alpha of 0 and 255", ending, cut, {}, 0
        yield "16 bits, grey", ending, wide, {}, 0
    for ending in ("png", "gif"):
        yield "transparent colour of a palette", ending, palette, {"transparency": 3}, 0
    yield "grey", "gif", grey, {}, 0
    yield "interlaced", "gif", palette, {"interlace": 1}, 0
    yield "first of two images", "gif", palette, {"save_all": True, "append_images": [grey.quantize(8)]}, 0
    for compression, limit in (("tiff_lzw", 0), ("tiff_adobe_deflate", 0), ("packbits", 0), ("jpeg", 2)):
        yield compression, "tif", rgb, {"compression": compression}, limit
    yield "group 4", "tif", bits, {"compression": "group4"}, 0
    yield "lossless", "webp", rgb, lossless, 0
    yield "alpha", "webp", rgba, {**lossless, "exact": True}, 1
    yield "lossy", "webp", rgb, {"quality": 80}, 2
    yield "first of an animation", "webp", rgb, {**lossless, "save_all": True,
                                                 "append_images": [made_up(61, 47, 2)]}, 0
    if features.check("avif"):  # with all colours: libheif 1.15 repeats pixels of 4:2:0
        yield "lossy", "avif", rgb, {"quality": 90, "subsampling": "4:4:4"}, 3
        yield "alpha", "avif", rgba, {"quality": 95, "subsampling": "4:4:4"}, 3
    for name, image, options in (("4:2:0", rgb, {"quality": 85}), ("4:4:4", rgb, {"quality": 95, "subsampling": 0}),
                                 ("progressive", rgb, {"quality": 85, "progressive": True}),
                                 ("grey", grey, {"quality": 85}),
                                 ("CMYK", rgb.convert("CMYK"), {"quality": 95, "subsampling": 0})):
        yield name, "jpg", image, options, 2
    for ending, options, limit in (("jpg", {"quality": 90}, 2), ("png", {}, 0), ("webp", lossless, 0)):
        for orientation in range(1, 9):
            exif = Image.Exif()
            exif[0x0112] = orientation
            yield f"orientation {orientation}", ending, rgb, {**options, "exif": exif}, limit


def run(args):
    for name, ending, image, options, limit in kinds():
        path = args.work / f"photo.{ending}"
        image.save(path, **options)
        compare(args, path, f"{ending}: {name}", limit)
    for path in args.photos:
        compare(args, path, path.name, 2)
    return result()

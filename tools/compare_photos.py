#!/usr/bin/env python3
"""Photos of every format that cnntrain reads, decoded by it and by PIL, and damaged ones, of which it names the fault.

usage: compare_photos.py PHOTO_INPUT [PHOTO...]

PHOTO_INPUT is build/tools/photo_input. Needs numpy and Pillow (Debian: python3-numpy, python3-pil). Prints the
largest difference of each kind of file and the limit for it, and ends with 1 if one is beyond. Photos given are
compared too.
"""
import io
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageOps

failures = 0


def photo(width, height, seed=1):
    """Smooth colours with some noise, so that compression has something to do."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 100 * np.sin(x / (7 + c) + c) * np.cos(y / (11 - c)) for c in range(3)]
    pixels = np.stack(planes, -1) + rng.normal(0, 6, (height, width, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def to_light(value):
    value = value / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def on_white(image):
    """RGB of an image; alpha is blended with white in linear light."""
    if image.mode == "P" or "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode == "LA":
        image = image.convert("RGBA")
    if image.mode != "RGBA":
        return np.asarray(image.convert("RGB")).astype(int)
    values = np.asarray(image).astype(float)
    alpha = values[..., 3:] / 255
    light = alpha * to_light(values[..., :3]) + (1 - alpha)
    srgb = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.rint(255 * srgb).astype(int)


def ours(decode, path, *flags):
    done = subprocess.run([decode, path, "--decoded", *flags], capture_output=True)
    if done.returncode != 0:
        return done.stderr.decode().strip()
    return np.asarray(Image.open(io.BytesIO(done.stdout))).astype(int)


def report(name, difference, limit):
    global failures
    bad = difference is None or difference > limit
    failures += bad
    print(f"{name:44s} {'' if difference is None else difference!s:>5s}  limit {limit}{'  FAILED' if bad else ''}")


def compare(decode, path, name, wanted, limit):
    got = ours(decode, path)
    if isinstance(got, str):
        print(name, got)
        report(name, None, limit)
    elif got.shape != wanted.shape:
        print(name, got.shape, wanted.shape)
        report(name, None, limit)
    else:
        report(name, int(abs(got - wanted).max()), limit)


def kinds():
    """Name, file name, image, options of PIL, largest difference of a value."""
    rgb = photo(61, 47)
    grey = rgb.convert("L")
    palette = rgb.quantize(40)
    rgba = rgb.copy()
    rgba.putalpha(Image.fromarray((np.mgrid[0:47, 0:61][1] * 4 % 256).astype(np.uint8)))
    cut = rgb.copy()
    cut.putalpha(Image.fromarray(((np.mgrid[0:47, 0:61][0] > 20) * 255).astype(np.uint8)))
    bits = grey.convert("1")
    wide = Image.fromarray((np.asarray(grey).astype(np.uint16) * 257))
    yield "PNG, RGB", "a.png", rgb, {}, 0
    yield "PNG, grey", "a.png", grey, {}, 0
    yield "PNG, palette", "a.png", palette, {}, 0
    yield "PNG, one bit", "a.png", bits, {}, 0
    yield "PNG, alpha", "a.png", rgba, {}, 3  # libpng blends dark colours by coarse tables
    yield "PNG, alpha of 0 and 255", "a.png", cut, {}, 0
    yield "PNG, transparent colour of a palette", "a.png", palette, {"transparency": 3}, 0
    yield "BMP, RGB", "a.bmp", rgb, {}, 0
    yield "BMP, grey", "a.bmp", grey, {}, 0
    yield "BMP, palette", "a.bmp", palette, {}, 0
    yield "BMP, one bit", "a.bmp", bits, {}, 0
    yield "BMP, alpha", "a.bmp", rgba, {}, 1
    yield "GIF, palette", "a.gif", palette, {}, 0
    yield "GIF, grey", "a.gif", grey, {}, 0
    yield "GIF, interlaced", "a.gif", palette, {"interlace": 1}, 0
    yield "GIF, transparent colour", "a.gif", palette, {"transparency": 5}, 0
    yield "GIF, first of two images", "a.gif", palette, {"save_all": True, "append_images": [grey.quantize(8)]}, 0
    for compression in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits"):
        yield f"TIFF, RGB, {compression}", "a.tif", rgb, {"compression": compression}, 0
    yield "TIFF, grey", "a.tif", grey, {}, 0
    yield "TIFF, palette", "a.tif", palette, {}, 0
    yield "TIFF, one bit, group 4", "a.tif", bits, {"compression": "group4"}, 0
    yield "TIFF, alpha", "a.tif", rgba, {}, 2
    yield "TIFF, alpha of 0 and 255", "a.tif", cut, {}, 0
    yield "TIFF, JPEG inside", "a.tif", rgb, {"compression": "jpeg"}, 2
    yield "TIFF, 16 bits, grey", "a.tif", wide, {}, 0
    yield "PNG, 16 bits, grey", "a.png", wide, {}, 0
    yield "WebP, lossless", "a.webp", rgb, {"lossless": True}, 0
    yield "WebP, lossless, alpha", "a.webp", rgba, {"lossless": True, "exact": True}, 1
    yield "WebP, lossless, alpha of 0 and 255", "a.webp", cut, {"lossless": True}, 0
    yield "WebP, lossy", "a.webp", rgb, {"quality": 80}, 2
    yield "WebP, first of an animation", "a.webp", rgb, {"save_all": True, "append_images": [photo(61, 47, 2)],
                                                        "lossless": True}, 0
    yield "JPEG, 4:2:0", "a.jpg", rgb, {"quality": 85}, 2
    yield "JPEG, 4:4:4", "a.jpg", rgb, {"quality": 95, "subsampling": 0}, 2
    yield "JPEG, progressive", "a.jpg", rgb, {"quality": 85, "progressive": True}, 2
    yield "JPEG, grey", "a.jpg", grey, {"quality": 85}, 2
    yield "JPEG, CMYK", "a.jpg", rgb.convert("CMYK"), {"quality": 95, "subsampling": 0}, 2


def opened(path):
    image = Image.open(path)
    if image.mode in ("I;16", "I;16B", "I"):
        return np.repeat((np.asarray(image).astype(int) // 257)[..., None], 3, -1)
    return on_white(image)


def compare_kinds(decode, folder):
    for name, file, image, options, limit in kinds():
        path = os.path.join(folder, file)
        image.save(path, **{key: value for key, value in options.items() if value is not None})
        compare(decode, path, name, opened(path), limit)
    run_length_bmps(decode, folder)


def run_length_bmps(decode, folder):
    """PIL reads them and does not write them."""
    runs = bytes([3, 7, 0, 3, 1, 2, 3, 0, 0, 0, 2, 9, 0, 2, 1, 1, 2, 5, 0, 0, 6, 4, 0, 1])
    head = struct.pack("<IiiHHIIiiII", 40, 6, 3, 1, 8, 1, len(runs), 0, 0, 16, 0)
    colours = b"".join(bytes([16 * i, 255 - 9 * i, 3 * i, 0]) for i in range(16))
    path = os.path.join(folder, "runs.bmp")
    offset = 14 + len(head) + len(colours)
    with open(path, "wb") as out:
        out.write(b"BM" + struct.pack("<IHHI", offset + len(runs), 0, 0, offset) + head + colours + runs)
    table = [[3 * i, 255 - 9 * i, 16 * i] for i in range(16)]
    # The second row: two 9s, a move of (1, 1) to the third row at column 3, two 5s, the end; then a row of 4s.
    indices = [[7, 7, 7, 1, 2, 3], [9, 9, 0, 0, 0, 0], [0, 0, 0, 5, 5, 0]]
    wanted = np.array([[table[i] for i in row] for row in reversed(indices)])
    compare(decode, path, "BMP, run lengths of 8 bits", wanted, 0)


def compare_orientations(decode, folder):
    for suffix, options, limit in ((".jpg", {"quality": 90}, 2), (".png", {}, 0), (".webp", {"lossless": True}, 0),
                                   (".tif", {}, 0)):
        worst = 0
        for orientation in range(1, 9):
            path = os.path.join(folder, "turned" + suffix)
            exif = Image.Exif()
            exif[0x0112] = orientation
            reference = path
            if suffix == ".tif":  # whose images PIL turns when it loads them; some versions turn them twice
                photo(53, 38).save(path, tiffinfo={0x0112: orientation}, **options)
                reference = os.path.join(folder, "turned.png")
                photo(53, 38).save(reference, exif=exif)
            else:
                photo(53, 38).save(path, exif=exif, **options)
            with Image.open(reference) as image:
                wanted = np.asarray(ImageOps.exif_transpose(image).convert("RGB")).astype(int)
            got = ours(decode, path)
            stored = ours(decode, path, "--as-stored")
            same = not isinstance(got, str) and got.shape == wanted.shape and stored.shape == (38, 53, 3)
            worst = max(worst, int(abs(got - wanted).max()) if same else 255)
        report(f"{suffix}, 8 orientations", worst, limit)


def compare_damage(decode, folder):
    """Every damaged file is refused with a reason, and so is a bomb."""
    global failures
    bodies = {}
    for suffix, options in ((".jpg", {}), (".png", {}), (".webp", {}), (".bmp", {}), (".gif", {}), (".tif", {})):
        buffer = io.BytesIO()
        image = photo(64, 64) if suffix != ".gif" else photo(64, 64).quantize(32)
        image.save(buffer, {".jpg": "JPEG", ".tif": "TIFF"}.get(suffix, suffix[1:].upper()), **options)
        bodies["truncated" + suffix] = buffer.getvalue()[:len(buffer.getvalue()) // 2]
    bodies["text.png"] = b"this is no image"
    bodies["bomb.bmp"] = b"BM" + struct.pack("<IHHI", 0, 0, 0, 54) + \
        struct.pack("<IiiHHIIiiII", 40, 30000, 30000, 1, 24, 0, 0, 0, 0, 0, 0)
    bodies["bomb.gif"] = b"GIF89a" + struct.pack("<HHBBB", 30000, 30000, 0x80, 0, 0) + bytes(6) + \
        b"," + struct.pack("<HHHHB", 0, 0, 30000, 30000, 0) + b"\x02\x02\x4c\x01\x00;"
    buffer = io.BytesIO()
    Image.new("1", (30000, 30000)).save(buffer, "PNG")
    bodies["bomb.png"] = buffer.getvalue()
    buffer = io.BytesIO()
    Image.new("1", (30000, 30000)).save(buffer, "TIFF", compression="group4")
    bodies["bomb.tif"] = buffer.getvalue()
    for name, body in bodies.items():
        path = os.path.join(folder, name)
        with open(path, "wb") as out:
            out.write(body)
        answer = ours(decode, path)
        named = isinstance(answer, str) and "internal" not in answer and answer != ""
        failures += not named
        print(f"{name:20s} {answer if named else 'NOT REFUSED'}")


def main():
    decode = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        compare_kinds(decode, folder)
        compare_orientations(decode, folder)
        compare_damage(decode, folder)
    for path in sys.argv[2:]:
        with Image.open(path) as image:
            wanted = on_white(ImageOps.exif_transpose(image))
        compare(decode, path, os.path.basename(path), wanted, 2)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

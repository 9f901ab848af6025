"""What rank_trial.py does to a run, how the run must end, and the data that some of these faults need. No tool by
itself."""
import functools
import json
import random
import shutil
import signal
import struct

IMAGES, TEST_IMAGES = 384, 64
GREY = 127  # mean of every image
BAD_IMAGES = 12


@functools.cache
def good_records():
    """Images whose mean is GREY and whose blue planes are GREY everywhere: standardised, blue is exactly zero."""
    source = random.Random(2)
    records = []
    for label in (i % 10 for i in range(IMAGES + TEST_IMAGES)):
        red = bytes(40 + 6 * label + noise // 2 for noise in source.randbytes(1024))
        green = bytes(2 * GREY - value for value in red)
        records.append(bytes([label]) + red + green + bytes([GREY]) * 1024)
    return records


def bad_cifar_record(label):
    """Grey but for some bright blue in the middle, which no crop loses."""
    blue = bytearray([GREY]) * 1024
    for y in (15, 16):
        blue[32 * y + 15:32 * y + 17] = b"\xff\xff"
    return bytes([label]) + bytes([GREY]) * 2048 + bytes(blue)


def write_cifar(folder, bad=()):
    """`bad`: numbers of training images."""
    records = list(good_records())
    for i in bad:
        records[i] = bad_cifar_record(i % 10)
    place = folder / "cifar-10-batches-bin"
    place.mkdir(parents=True, exist_ok=True)
    share = -(-IMAGES // 5)
    for i in range(5):
        (place / f"data_batch_{i + 1}.bin").write_bytes(b"".join(records[i * share:min((i + 1) * share, IMAGES)]))
    (place / "test_batch.bin").write_bytes(b"".join(records[IMAGES:]))


def enlarge_weight(checkpoint, edited):
    """The first convolution's weight that reads blue in the middle becomes 1e38."""
    data = bytearray(checkpoint.read_bytes())
    size = struct.unpack("<Q", data[:8])[0]
    begin = json.loads(data[8:8 + size])["all/stage0/conv0/weight"]["data_offsets"][0]
    height, width, inputs, outputs = 1, 1, 2, 0
    element = ((height * 3 + width) * 3 + inputs) * 16 + outputs
    struct.pack_into("<f", data, 8 + size + begin + 4 * element, 1e38)
    edited.write_bytes(data)


def damage_records(source, target, numbers):
    """Copies a TFRecord file; a byte in the middle of these records is another one."""
    data = bytearray(source.read_bytes())
    position = number = 0
    while position < len(data):
        length = struct.unpack_from("<Q", data, position)[0]
        if number in numbers:
            data[position + 12 + length // 2] ^= 0x40
        position += 16 + length
        number += 1
    target.write_bytes(data)


class Kind:
    """One of the faults. Those that `line` and `launch` do not bring about themselves happen in strike()."""
    name = ""
    data = "cifar"        # which of the bench's trainings
    wrapped = True        # exit codes of all ranks are known
    at_random = True      # strike() is called at a random moment
    stops = False         # the struck rank stays until mpirun ends it
    hosts = 1             # over which the ranks are spread, on which the order of sums depends
    changes_data = False  # the run sees other data than an undisturbed one

    def __init__(self, bench):
        self.bench = bench

    def prepare(self, round_):
        pass

    def launch(self, round_):
        return self.bench.launch(round_.world)

    def strike(self, round_):
        pass

    def have_ended(self, round_):
        """All that must end in time."""
        return round_.start.has_ended()

    def check(self, round_):
        raise NotImplementedError

    def repair(self, round_):
        pass


class Kill(Kind):
    name, wrapped = "kill", False

    def strike(self, round_):
        round_.signal_rank(signal.SIGKILL)

    def check(self, round_):
        round_.expect_code(137)
        round_.expect_text("exited on signal 9")


class Abandon(Kind):
    """In this mode mpirun itself hangs now and then when a rank is gone before MPI has started; it is ended then, and
    what the ranks have said through it is lost."""
    name = "abandon"

    def launch(self, round_):
        return [*super().launch(round_)[:1], "--enable-recovery", *super().launch(round_)[1:]]

    def strike(self, round_):
        round_.signal_rank(signal.SIGKILL)

    def have_ended(self, round_):
        return not round_.start.ranks(round_.bench.program.name)

    def repair(self, round_):
        round_.end_mpirun_if_it_hangs()

    def check(self, round_):
        round_.expect_others(7)
        round_.expect_missing()


class Stop(Kind):
    name, wrapped, stops = "stop", False, True

    def strike(self, round_):
        round_.signal_rank(signal.SIGSTOP)

    def check(self, round_):
        round_.expect_code(7)
        round_.expect_missing()


class Term(Kind):
    name, wrapped = "term", False

    def strike(self, round_):
        round_.signal_rank(signal.SIGTERM)

    def check(self, round_):
        round_.expect_code(143)


class TermAll(Kind):
    name, wrapped = "term-all", False

    def strike(self, round_):
        round_.start.process.send_signal(signal.SIGTERM)

    def check(self, round_):
        round_.expect_code(1, 143)  # mpirun's own; 143 when a rank was sooner


class Cut(Kind):
    """mpirun and its daemon wait until TCP gives up, a quarter of an hour by default; so they have their link back when
    all ranks have ended."""
    name, hosts = "cut", 2

    def launch(self, round_):
        return self.bench.launch(round_.world, self.hosts)

    def strike(self, round_):
        self.bench.hosts.cut()

    def have_ended(self, round_):
        return not round_.start.ranks(round_.bench.program.name)

    def check(self, round_):
        """While ranks connect, Open MPI ends one that finds no network, with 255. At the very end one side may know
        that all have met, while the other one misses the message."""
        at_the_end = "end of the run" in round_.start.text()
        round_.expect_code(7, 255)
        round_.expect_codes({}, others=(0, 7) if at_the_end else (7, 255))
        if 255 in round_.exit_codes().values():
            round_.expect_text("Unable to connect to the peer")
        round_.expect_missing(range(round_.world))

    def repair(self, round_):
        self.bench.hosts.join()


class Disk(Kind):
    name, at_random = "disk", False

    def prepare(self, round_):
        """Room for some of the checkpoints."""
        whole = sum(path.stat().st_size for path in round_.whole.iterdir())
        round_.room = self.bench.random.randrange(60_000, whole)
        round_.mount(round_.room)

    def check(self, round_):
        round_.struck_rank = 0
        round_.expect_code(5, 7)
        round_.expect_codes({0: (5,)}, others=(7,))
        round_.expect_text("No space left on device|File too large")
        round_.expect_text("rank 0 has left: .*(No space left on device|File too large)")

    def repair(self, round_):
        round_.mount(1 << 30, "remount,")


class Nan(Kind):
    name, data, at_random, changes_data = "nan", "heavy", False, True

    def write(self, round_, bad=()):
        """Ranks need the same data."""
        for rank in range(round_.world):
            write_cifar(self.bench.home("heavy", rank), bad)

    def prepare(self, round_):
        self.write(round_, self.bench.random.sample(range(IMAGES), self.bench.random.randrange(1, BAD_IMAGES)))

    def check(self, round_):
        round_.expect_code(6)
        round_.expect_codes({}, others=(6,))
        round_.expect_text("training diverged: the loss of iteration")
        if round_.world > 1:
            round_.expect_text(r"on rank \d( and rank \d)*: the result of all/stage0/conv0")

    def repair(self, round_):
        self.write(round_)


class Damage(Kind):
    name, data, at_random = "damage", "records", False

    def file(self, round_):
        return self.bench.home("records", round_.struck_rank) / "train-00001-of-00004"

    def prepare(self, round_):
        round_.struck_rank = self.bench.random.randrange(round_.world)
        whole = self.bench.work / "tfrecords" / "train-00001-of-00004"
        damage_records(whole, self.file(round_), self.bench.random.sample(range(12), 4))  # ranks share the records out

    def check(self, round_):
        round_.expect_codes({round_.struck_rank: (3,)}, others=(3, 7))
        round_.expect_text("train-00001-of-00004.*(checksum|crc)")
        if round_.world > 1:
            round_.expect_text(f"rank {round_.struck_rank} (met data that cannot be used|has left: )")

    def repair(self, round_):
        shutil.copy2(self.bench.work / "tfrecords" / "train-00001-of-00004", self.file(round_))


KINDS = (Kill, Abandon, Stop, Term, TermAll, Cut, Disk, Nan, Damage)

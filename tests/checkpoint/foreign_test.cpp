// Weights of PyTorch, Keras and TensorFlow. tools/golden/make_foreign_weights.py makes files with these programs.
#include "cnntrain/weights/foreign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/average.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/weight_containers.h"

namespace cnntrain::weights {
namespace {

using nlohmann::json;
using test::zip_of;

const std::string kFolder = CNNTRAIN_SOURCE_DIR "/tests/golden/foreign/";

const json& golden() {
    static const json document = [] {
        std::ifstream file(CNNTRAIN_SOURCE_DIR "/tests/golden/foreign_weights.json");
        return json::parse(file);
    }();
    return document;
}

void expect_golden(const Checkpoint& checkpoint, const json& expected) {
    EXPECT_EQ(checkpoint.iteration, -1);
    std::vector<std::string> names;
    for (const auto& [name, tensor] : checkpoint.tensors)
        names.push_back(name);
    std::vector<std::string> expected_names;
    for (const auto& [name, row] : expected.items())
        expected_names.push_back(name);
    ASSERT_EQ(names, expected_names);
    for (const auto& [name, row] : expected.items()) {
        const HostTensor& tensor = checkpoint.tensors.at(name);
        ASSERT_EQ(tensor.shape(), row["shape"].get<Shape>()) << name;
        EXPECT_EQ(cnntrain::name(tensor.dtype()), row["type"].get<std::string>()) << name;
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            ASSERT_EQ(tensor.at(i), row["values"][static_cast<std::size_t>(i)].get<double>()) << name << " " << i;
    }
}

std::vector<std::string> texts(const std::vector<LeftOut>& left_out) {
    std::vector<std::string> result;
    for (const LeftOut& one : left_out)
        result.push_back(one.name + " " + one.reason);
    return result;
}

ForeignFile open_golden(const std::string& name, const std::string& part = "") {
    return open_foreign(posix_files(), kFolder + name, part);
}

std::string content_of(const std::string& name) {
    return read_text(posix_files(), kFolder + name);
}

constexpr const char* kPath = "weights";

/// A file with this content, read whole.
Checkpoint read_content(const std::string& content) {
    MemoryFiles files;
    write_text(files, kPath, content);
    return load_foreign(files, kPath);
}

std::string error_of_content(ErrorKind kind, const std::string& content) {
    std::string message = message_of(kind, [&] { read_content(content); });
    EXPECT_THAT(message, HasSubstr(kPath));
    return message;
}

// ---- files of the programs themselves ----

class GoldenFile : public testing::TestWithParam<const char*> {};

TEST_P(GoldenFile, HoldsWhatItsProgramSaved) {
    const std::string kind = GetParam();
    const std::string expected_name = kind == "torch" ? "PyTorch" : kind == "keras" ? "Keras" : "TensorFlow";
    ASSERT_FALSE(golden().at(kind).empty());
    for (const auto& [file, tensors] : golden().at(kind).items()) {
        SCOPED_TRACE(file);
        const auto format = foreign_format(posix_files(), kFolder + file);
        ASSERT_TRUE(format);
        EXPECT_EQ(name(*format), expected_name);
        expect_golden(load(posix_files(), kFolder + file), tensors);
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, GoldenFile, testing::Values("torch", "keras", "tensorflow"),
                         [](const auto& row) { return std::string(row.param); });

TEST(ForeignWeights, WhatIsNotReadIsListed) {
    const std::vector<std::string> unread = {"int16 has elements of type int16",
                                             "complex64 has elements of type complex64", "text is no tensor"};
    EXPECT_EQ(texts(open_golden("views.pt").left_out), unread);
    EXPECT_EQ(texts(open_golden("views_legacy.pt").left_out), unread);
    EXPECT_THAT(texts(open_golden("keras2.h5").left_out),
                ElementsAre("big_endian/w has big-endian floats of 4 bytes", "packed/w is compressed"));
    EXPECT_THAT(texts(open_golden("model.h5").left_out), Contains(HasSubstr("optimiser")));
    EXPECT_THAT(texts(open_golden("v1.ckpt-7.index").left_out),
                ElementsAre("complex64 has elements of type complex64", "text has elements of type string"));
    EXPECT_THAT(texts(open_golden("v2.index").left_out), Contains(HasSubstr("elements")));
    EXPECT_THAT(texts(open_golden("module.pth").left_out), IsEmpty());
}

TEST(ForeignWeights, PartsOfATraining) {
    const ForeignFile file = open_golden("training.pth");
    EXPECT_EQ(file.part, "model");
    EXPECT_THAT(file.other_parts, ElementsAre("model_ema"));
    const ForeignFile averaged = open_golden("training.pth", "model_ema");
    EXPECT_EQ(averaged.part, "model_ema");
    EXPECT_TRUE(averaged.tensors.descs.contains("module.stem.weight"));
    EXPECT_EQ(averaged.tensors.tensor("n_averaged").at(0), 0);
    EXPECT_THAT(message_of(ErrorKind::usage, [] { open_golden("training.pth", "modle"); }),
                AllOf(HasSubstr("'modle'"), HasSubstr("'model' and 'model_ema'")));
    EXPECT_THAT(message_of(ErrorKind::usage, [] { open_golden("keras2.h5", "model"); }), HasSubstr("PyTorch"));
}

TEST(ForeignWeights, OtherCommandsReadThemToo) {
    const std::string path = kFolder + "module.pth";
    EXPECT_THAT(find_nans(posix_files(), path), IsEmpty());
    const json& bias = golden()["torch"]["module.pth"]["head.bias"]["values"];
    EXPECT_EQ(element(posix_files(), path, "head.bias", 1), bias[1].get<double>());
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { element(posix_files(), path, "head.bais", 1); }),
                HasSubstr("'head.bias'"));
    const CheckpointContent listed = content(posix_files(), path);
    EXPECT_EQ(listed.format, "PyTorch");
    EXPECT_EQ(to_string(listed.variables.at("stem.weight")), "f32[3, 2, 3, 3]");
    EXPECT_THAT(class_names_of(posix_files(), path), IsEmpty());
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { CheckpointFile(posix_files(), path); }), HasSubstr(path));
}

TEST(ForeignWeights, NamesOfWrappersAreRemoved) {
    MemoryFiles files;
    Checkpoint wrapped;
    for (const char* name : {"module.conv1.weight", "module.fc.weight"})
        wrapped.tensors.emplace(name, HostTensor({DType::f32, {2}}));
    save(files, "wrapped.safetensors", wrapped);
    EXPECT_THAT(weights_header(files, "wrapped.safetensors").tensors,
                ElementsAre(testing::Key("conv1.weight"), testing::Key("fc.weight")));
    EXPECT_THAT(load(files, "wrapped.safetensors").tensors,
                ElementsAre(testing::Key("conv1.weight"), testing::Key("fc.weight")));
    wrapped.tensors.emplace("fc.bias", HostTensor({DType::f32, {2}}));
    save(files, "mixed.safetensors", wrapped);
    EXPECT_TRUE(load(files, "mixed.safetensors").tensors.contains("module.fc.weight"));
}

TEST(ForeignWeights, APrefixNamesATensorFlowCheckpoint) {
    EXPECT_EQ(find_checkpoint(posix_files(), "--from", kFolder + "v1.ckpt-7").path, kFolder + "v1.ckpt-7.index");
}

TEST(ForeignWeights, OtherFilesAreNone) {
    MemoryFiles files;
    save(files, "own", {});
    EXPECT_FALSE(foreign_format(files, "own"));
    EXPECT_FALSE(foreign_format(files, "absent"));
    for (const std::string text : {"", "P", "text of some length", "\x80"}) {
        write_text(files, kPath, text);
        EXPECT_FALSE(foreign_format(files, kPath)) << text;
    }
    // A safetensors file whose header has the length of a pickle's first bytes, and which ends as a table does.
    write_text(files, kPath, std::string("\x80\x02\0\0\0\0\0\0{", 9) + "\x57\xfb\x80\x8b\x24\x75\x47\xdb");
    EXPECT_FALSE(foreign_format(files, kPath));
    EXPECT_THAT(error_of_content(ErrorKind::unsupported, zip_of({{"a.npy", "x"}})), HasSubstr("a.npy"));
    EXPECT_THAT(error_of_content(ErrorKind::unsupported, "\x80\x02}q\x01.   "), Not(IsEmpty()));
}

// ---- damage ----

/// Loads the file with one byte changed, for bytes all over it; returns how many changes were noticed.
int noticed_changes(const std::string& name, int& changes) {
    const std::string sound = content_of(name);
    int noticed = 0;
    for (std::size_t at = 0; at < sound.size(); at += 1 + sound.size() / 600, ++changes) {
        std::string damaged = sound;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
        try {
            MemoryFiles files;
            write_text(files, kPath, damaged);
            load(files, kPath);
        } catch (const Error& error) {
            EXPECT_TRUE(error.kind() == ErrorKind::data || error.kind() == ErrorKind::unsupported) << error.what();
            ++noticed;
        }
    }
    return noticed;
}

TEST(ForeignDamage, NoChangeOfAByteEndsOtherwiseThanInAnError) {
    for (const char* name : {"views.pt", "views_legacy.pt", "module.pth", "latest.h5", "keras2.h5", "model.keras"}) {
        int changes = 0;
        EXPECT_GT(noticed_changes(name, changes), changes / 100) << name;
        EXPECT_GT(changes, 300) << name;
    }
}

TEST(ForeignDamage, AChangedNumberIsNoticedWhereThereIsAChecksum) {
    std::string torch = content_of("views.pt");
    const std::string numbers("\0\0\x40\x40\0\0\x80\x40", 8);  // 3, 4
    const std::size_t at = torch.find(numbers);
    ASSERT_NE(at, std::string::npos);
    torch[at] = 1;
    EXPECT_THAT(error_of_content(ErrorKind::data, torch), HasSubstr("checksum"));

    MemoryFiles files;
    const std::string index = content_of("v1.ckpt-7.index");
    std::string data = content_of("v1.ckpt-7.data-00000-of-00001");
    write_text(files, "p.index", index);
    write_text(files, "p.data-00000-of-00001", data);
    EXPECT_EQ(load(files, "p.index").tensors.size(), 10U);
    data[20] = static_cast<char>(data[20] ^ 1);
    write_text(files, "p.data-00000-of-00001", data);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { load(files, "p.index"); }), HasSubstr("checksum"));
    write_text(files, "p.data-00000-of-00001", data.substr(0, 100));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { load(files, "p.index"); }), HasSubstr("of 100"));
    files.remove("p.data-00000-of-00001");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { load(files, "p.index"); }), HasSubstr("00000"));
    for (std::size_t i = 0; i < index.size(); i += 7) {
        std::string damaged = index;
        damaged[i] = static_cast<char>(damaged[i] ^ 4);
        write_text(files, "p.index", damaged);
        EXPECT_TRUE(test::kind_of([&] { load(files, "p.index"); })) << i;
    }
}

TEST(ForeignDamage, EveryCutIsNoticed) {
    for (const char* name : {"views.pt", "views_legacy.pt", "latest.h5", "v1.ckpt-7.index"}) {
        const std::string sound = content_of(name);
        for (std::size_t size = 32; size < sound.size(); size += 1 + sound.size() / 300) {
            EXPECT_TRUE(test::kind_of([&] {
                MemoryFiles files;
                write_text(files, "p.index", sound.substr(0, size));
                load(files, "p.index");
            })) << name
                << " " << size;
        }
    }
}

// ---- PyTorch's pickles ----

/// A file of torch.save() with this pickle and one storage of four floats.
std::string torch_file(const std::string& pickle, const std::string& byte_order = "little",
                       test::ZipFields fields = {}) {
    return zip_of({{"a/data.pkl", pickle},
                   {"a/byteorder", byte_order},
                   {"a/data/0", std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16)}},
                  fields);
}

/// Returns the text with `to` in the place of the first `from`.
std::string edited(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

/// {"w": a tensor of that storage}
std::string tensor_pickle(const std::string& offset, const std::string& shape, const std::string& strides,
                          const std::string& elements = "K\x04") {
    return "\x80\x02}U\x01wctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\nU\x01"
           "0U\x03"
           "cpu" +
           elements + "tQ" + offset + "(" + shape + "t(" + strides + "t\x89NtRs.";
}

TEST(TorchPickle, StridesAndOffsetsAreFollowed) {
    const std::string pickle = tensor_pickle("K\x01", "K\x02", "K\x02");
    for (const bool zip64 : {false, true}) {
        const Checkpoint read = read_content(torch_file(pickle, "little", {.zip64 = zip64}));
        ASSERT_EQ(read.tensors.at("w").shape(), Shape({2}));
        EXPECT_EQ(read.tensors.at("w").at(0), 2);
        EXPECT_EQ(read.tensors.at("w").at(1), 4);
    }
}

TEST(TorchPickle, NamesThatNoOtherFileCanHaveAreLeftOut) {
    const std::string pickle = tensor_pickle("K\x01", "K\x02", "K\x02");
    for (const std::string name : {"U\x0c__metadata__", "U\x02\xc3\x28"}) {
        MemoryFiles files;
        write_text(files, kPath, torch_file(edited(pickle, "U\x01w", name)));
        const ForeignFile file = open_foreign(files, kPath);
        EXPECT_THAT(file.tensors.descs, IsEmpty());
        EXPECT_THAT(texts(file.left_out), ElementsAre(HasSubstr("impossible")));
    }
}

TEST(TorchPickle, TensorsThatDoNotFitTheirStorageAreRefused) {
    const auto refusal = [](const std::string& pickle) {
        return error_of_content(ErrorKind::data, torch_file(pickle));
    };
    EXPECT_THAT(refusal(tensor_pickle("K\x01", "K\x02", "K\x03")), HasSubstr("'w'"));
    EXPECT_THAT(refusal(tensor_pickle("K\x04", "K\x01", "K\x01")), HasSubstr("storage"));
    EXPECT_THAT(refusal(tensor_pickle("J\xff\xff\xff\xff", "K\x01", "K\x01")), HasSubstr("impossible"));
    EXPECT_THAT(refusal(tensor_pickle("K\x01", "K\x01", "J\xff\xff\xff\xff")), HasSubstr("impossible"));
    EXPECT_THAT(refusal(tensor_pickle("K\x01", "K\x01", "K\x01K\x01")), HasSubstr("strides"));
    const std::string large = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f";
    EXPECT_THAT(refusal(tensor_pickle("K\x01", large, "K\x01")), HasSubstr("large"));
    EXPECT_THAT(refusal(tensor_pickle(large, "K\x02", large)), HasSubstr("storage"));
    EXPECT_THAT(refusal(tensor_pickle("K\x01", "K\x01", "K\x01", "K\x05")), HasSubstr("16 bytes"));
    EXPECT_THAT(refusal(tensor_pickle("K\x01", "K\x01", "K\x01", large)), HasSubstr("large"));
    // A view of one number as many.
    EXPECT_THAT(refusal(tensor_pickle("K\x01", "J\x40\x42\x0f\x01", std::string("K\0", 2))), HasSubstr("16 times"));
}

TEST(TorchPickle, NothingIsExecuted) {
    const auto refusal = [](const std::string& pickle) {
        return error_of_content(ErrorKind::unsupported, torch_file(pickle));
    };
    EXPECT_THAT(refusal("\x80\x02"
                        "cos\nsystem\nU\x04true\x85R."),
                HasSubstr("os.system"));
    EXPECT_THAT(refusal("\x80\x04\x8c\x08"
                        "builtins\x8c\x04"
                        "eval\x93."),
                HasSubstr("builtins.eval"));
    EXPECT_THAT(refusal("\x80\x02}U\x01wctorchvision.models.resnet\nResNet\n."),
                HasSubstr("torchvision.models.resnet.ResNet"));
    EXPECT_THAT(refusal("\x80\x02(U\x04trueios\nsystem\n."), HasSubstr("INST"));
    EXPECT_THAT(refusal("\x80\x02\x82\x01."), HasSubstr("EXT1"));
    EXPECT_THAT(refusal("\x80\x02K\x01"
                        "2."),
                HasSubstr("DUP"));
}

TEST(TorchPickle, BytesThatAreNoPickle) {
    const auto refusal = [](const std::string& pickle) {
        return error_of_content(ErrorKind::data, torch_file(pickle));
    };
    EXPECT_THAT(refusal("\x80\x02"), HasSubstr("missing"));
    EXPECT_THAT(refusal("\x80\x02."), HasSubstr("empty"));
    EXPECT_THAT(refusal("\x80\x02!"), HasSubstr("opcode"));
    EXPECT_THAT(refusal("\x80\x09}."), HasSubstr("protocol"));
    EXPECT_THAT(refusal("\x80\x02h\x05."), HasSubstr("5 of"));
    EXPECT_THAT(refusal("\x80\x02}(K\x01u."), HasSubstr("value"));
    EXPECT_THAT(refusal("\x80\x02}K\x01K\x01R."), HasSubstr("function"));
    EXPECT_THAT(refusal("\x80\x02t."), HasSubstr("lacks"));
    EXPECT_THAT(refusal("\x80\x02X\xff\xff\xff\xff."), HasSubstr("missing"));
}

TEST(TorchPickle, DictionariesThatContainThemselvesEnd) {
    // d = {}; d["x"] = d
    EXPECT_THAT(error_of_content(ErrorKind::unsupported, torch_file("\x80\x02}q\x01U\x01xh\x01s.")), Not(IsEmpty()));
    // Each of 40 dictionaries holds the one before it twice: 2^40 paths.
    std::string pickle = "\x80\x02}q" + std::string(1, '\0');
    for (char i = 1; i <= 40; ++i) {
        const char before = static_cast<char>(i - 1);
        pickle += std::string("}q") + i + "U\x01" + "ah" + before + "sU\x01" + "bh" + before + "s";
    }
    EXPECT_THAT(error_of_content(ErrorKind::unsupported, torch_file(pickle + ".")), Not(IsEmpty()));
}

/// A key of 100 kB in front of each of 20 000 dictionaries would need 2 GB of paths.
TEST(TorchPickle, ALongKeyIsNotRepeatedForEveryDictionary) {
    std::string key = "X";
    test::append_number(key, 100'000, 4);
    key += std::string(100'000, 'k');
    const std::string tensor = tensor_pickle("K\x01", "K\x02", "K\x02");
    const std::size_t begin = tensor.find("ctorch");
    std::string pickle = "\x80\x02(" + key + "q\x01" + tensor.substr(begin, tensor.size() - 2 - begin) + "q\x02t}(";
    for (int i = 0; i < 20'000; ++i)
        pickle += "h\x01}U\x01wh\x02s";
    EXPECT_THAT(error_of_content(ErrorKind::unsupported, torch_file(pickle + "u.")), Not(IsEmpty()));
}

/// A dictionary of a thousand tensors whose storage has one long key.
TEST(TorchPickle, ALongKeyOfAStorageIsRefused) {
    std::string key = "X";
    test::append_number(key, 1000, 4);
    key += std::string(1000, '7');
    const std::string pickle = edited(tensor_pickle("K\x01", "K\x02", "K\x02"),
                                      "U\x01"
                                      "0U",
                                      key + "U");
    EXPECT_THAT(error_of_content(ErrorKind::data, torch_file(pickle)), HasSubstr("1000 bytes"));
}

/// Paths of 1000 bytes to dictionaries of 20 bytes.
TEST(TorchPickle, PathsOfDictionariesAreLimitedByTheFile) {
    std::string key = "X";
    test::append_number(key, 1000, 4);
    key += std::string(1000, 'k');
    const std::string tensor = tensor_pickle("K\x01", "K\x02", "K\x02");
    const std::size_t begin = tensor.find("ctorch");
    std::string pickle = "\x80\x02(" + key + "q\x01" + tensor.substr(begin, tensor.size() - 2 - begin) + "q\x02t}(";
    for (int i = 0; i < 5'000; ++i)
        pickle += "h\x01}U\x01wh\x02s";
    EXPECT_THAT(error_of_content(ErrorKind::data, torch_file(pickle + "u.")), HasSubstr("names"));
}

TEST(TorchFile, WhatItIsStoredInIsChecked) {
    const std::string pickle = tensor_pickle("K\x01", "K\x02", "K\x02");
    EXPECT_THAT(error_of_content(ErrorKind::unsupported, torch_file(pickle, "big")), HasSubstr("'big'"));
    EXPECT_THAT(error_of_content(ErrorKind::unsupported, torch_file(pickle, "little", {.method = 8})),
                HasSubstr("compressed"));
    EXPECT_THAT(error_of_content(ErrorKind::unsupported, zip_of({{"a/data.pkl", pickle}, {"a/constants.pkl", ""}})),
                HasSubstr("TorchScript"));
    EXPECT_THAT(error_of_content(ErrorKind::data, zip_of({{"a/data.pkl", pickle}})), HasSubstr("'a/data/0'"));
    EXPECT_THAT(error_of_content(ErrorKind::data, zip_of({{"a/data.pkl", pickle}, {"a/data.pkl", pickle}})),
                HasSubstr("entries"));
}

// ---- HDF5 ----

/// Each of these bytes of the type of 32-bit floats makes them something else.
TEST(Hdf5, FloatsInAnotherLayoutAreRefused) {
    // Class and flags, 4 bytes; offset 0, 32 bits; exponent at 23, 8 bits; mantissa at 0, 23 bits; bias 127.
    const std::string plain("\x11\x20\x1f\0\4\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0", 20);
    struct Edit {
        std::size_t byte;
        char value;
    };
    constexpr Edit kEdits[] = {{1, '\x10'}, {2, '\x1e'}, {8, 1},  {10, '\x1f'}, {12, '\x16'},
                               {13, 7},     {14, 1},     {15, 9}, {16, '\x7e'}};
    for (const Edit& edit : kEdits) {
        std::string content = content_of("keras2.h5");
        std::size_t count = 0;
        for (std::size_t at = content.find(plain); at != std::string::npos; at = content.find(plain, at)) {
            content[at + edit.byte] = edit.value;
            ++count;
        }
        ASSERT_GT(count, 0);
        MemoryFiles files;
        write_text(files, kPath, content);
        const ForeignFile file = open_foreign(files, kPath);
        EXPECT_THAT(texts(file.left_out), Contains(HasSubstr("4 bytes"))) << edit.byte;
        for (const auto& [name, desc] : file.tensors.descs)
            EXPECT_NE(desc.dtype, DType::f32) << edit.byte;
    }
}

std::string number_text(std::uint64_t value, std::size_t bytes) {
    std::string text;
    test::append_number(text, value, bytes);
    return text;
}

/// Objects of an HDF5 file with headers of version 2, the last one its root.
class Hdf5Writer {
public:
    std::uint64_t add(const std::string& messages) {
        root_ = kSuperblock + body_.size();
        body_ += "OHDR" + number_text(2, 1) + number_text(2, 1) + number_text(messages.size(), 4) + messages;
        return root_;
    }
    std::string file() const {
        return std::string("\x89HDF\r\n\x1a\n\x02\x08\x08\0", 12) + number_text(0, 8) + std::string(16, '\xff') +
               number_text(root_, 8) + number_text(0, 4) + body_;
    }
    static std::string message(std::uint64_t type, const std::string& content) {
        return number_text(type, 1) + number_text(content.size(), 2) + number_text(0, 1) + content;
    }
    static std::string link(const std::string& name, std::uint64_t to) {
        return message(6,
                       number_text(1, 1) + number_text(1, 1) + number_text(name.size(), 2) + name + number_text(to, 8));
    }

private:
    static constexpr std::uint64_t kSuperblock = 48;
    std::string body_;
    std::uint64_t root_ = 0;
};

/// 2000 links of 16 bytes to one object, below a path of 3000 bytes.
TEST(Hdf5, PathsAreLimitedByTheFile) {
    Hdf5Writer writer;
    const std::uint64_t object = writer.add("");
    std::string links;
    for (int i = 0; i < 2000; ++i)
        links += Hdf5Writer::link(std::to_string(i), object);
    std::uint64_t group = writer.add(links);
    for (const char letter : {'a', 'b', 'c'})
        group = writer.add(Hdf5Writer::link(std::string(1000, letter), group));
    EXPECT_THAT(error_of_content(ErrorKind::data, writer.file()), HasSubstr("names"));
}

// ---- TensorFlow's tables ----

const std::string kHeader("\x08\x01", 2);  // one data file
/// float[2] at 0, 8 bytes
std::string float_entry(const std::string& more = "") {
    std::string entry("\x08\x01\x12\x04\x12\x02\x08\x02\x28\x08", 10);
    entry += '\x35';
    const std::string data("\0\0\x80\x3f\0\0\0\x40", 8);
    test::append_number(entry, mask_crc(crc32c(std::as_bytes(std::span(data)))), 4);
    return entry + more;
}

Checkpoint read_table(const std::string& index) {
    MemoryFiles files;
    write_text(files, "p.index", index);
    write_text(files, "p.data-00000-of-00001", std::string("\0\0\x80\x3f\0\0\0\x40", 8));
    return load(files, "p.index");
}

TEST(TensorFlowTable, BlocksMayBeCompressed) {
    const std::string block = test::table_block({{"", kHeader}, {"w", float_entry()}});
    EXPECT_EQ(read_table(test::table_of({block})).tensors.at("w").at(1), 2);
    // Snappy: the length, then one literal.
    std::string snappy;
    test::append_varint(snappy, block.size());
    snappy += static_cast<char>((block.size() - 1) << 2);
    snappy += block;
    EXPECT_EQ(read_table(test::table_of({snappy}, 1)).tensors.at("w").at(1), 2);
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { read_table(test::table_of({block}, 4)); }),
                HasSubstr("compression 4"));
}

/// Entries of 3 bytes whose keys share 4096 bytes with the one before.
TEST(TensorFlowTable, NamesAreLimitedByTheFile) {
    std::string block = test::table_block({{"", kHeader}, {std::string(4096, 'n'), float_entry()}});
    block.resize(block.size() - 8);  // the position of the only whole key, and their number
    for (int i = 0; i < 1000; ++i)
        block += std::string("\x80\x20\0\0", 4);
    block += std::string("\0\0\0\0\1\0\0\0", 8);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_table(test::table_of({block})); }), HasSubstr("names"));
}

TEST(TensorFlowTable, WhatItSaysIsChecked) {
    const auto refusal = [](ErrorKind kind, const std::string& header, const std::string& entry) {
        return message_of(kind, [&] { read_table(test::table_of({test::table_block({{"", header}, {"w", entry}})})); });
    };
    EXPECT_THAT(refusal(ErrorKind::data, kHeader, float_entry("\x18\x07")), HasSubstr("data"));
    EXPECT_THAT(refusal(ErrorKind::data, kHeader, float_entry("\x20\x01")), HasSubstr("1 of 8"));
    EXPECT_THAT(refusal(ErrorKind::data, kHeader, float_entry("\x28\x04")), HasSubstr("f32[2]"));
    EXPECT_THAT(refusal(ErrorKind::data, kHeader, float_entry("\x12\x0c\x12\x0a\x08\xff\xff\xff\xff\xff\xff\xff\x7f")),
                HasSubstr("malformed"));
    EXPECT_THAT(
        refusal(ErrorKind::data, kHeader, float_entry("\x12\x0c\x12\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f")),
        HasSubstr("impossible"));
    EXPECT_THAT(refusal(ErrorKind::unsupported, std::string("\x08\x01\x10\x01", 4), float_entry()), HasSubstr("order"));
    EXPECT_THAT(refusal(ErrorKind::unsupported, std::string("\x0a\x00", 2), float_entry()), HasSubstr("format"));
    EXPECT_THAT(refusal(ErrorKind::data, std::string("\x08\x00", 2), float_entry()), HasSubstr("impossible"));
    EXPECT_THAT(message_of(ErrorKind::data,
                           [] {
                               read_table(test::table_of({test::table_block({{"w", float_entry()}})}));
                           }),
                HasSubstr("header"));
    EXPECT_THAT(
        message_of(
            ErrorKind::data,
            [] {
                read_table(test::table_of({test::table_block({{"", kHeader}, {"w", float_entry()}, {"", kHeader}})}));
            }),
        HasSubstr("headers"));
}

}  // namespace
}  // namespace cnntrain::weights

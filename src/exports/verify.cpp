// Compares files with the network, and writes them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "cnntrain/base/axes.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/exports/exports.h"

namespace cnntrain::exports {

namespace {

constexpr std::size_t kImageAxes = 4;
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 31;

/// Samples `first` to `first` + `count` - 1, images [N,C,H,W].
Array part_of(const HostTensor& all, std::int64_t first, std::int64_t count) {
    Shape shape = all.shape();
    shape.front() = count;
    HostTensor part({all.dtype(), shape});
    const std::size_t row = part.bytes().size() / static_cast<std::size_t>(count);
    std::memcpy(part.bytes().data(), all.bytes().data() + static_cast<std::size_t>(first) * row, part.bytes().size());
    return array_of(shape.size() == kImageAxes ? with_axes(part, {0, 3, 1, 2}) : part);
}

/// Photos differ in size and come one by one.
std::map<std::string, Array> inputs_of(const Replay& replay, std::int64_t first, std::int64_t count) {
    std::map<std::string, Array> inputs;
    for (const auto& [name, tensor] : replay.inputs) {
        if (replay.photos.empty() || tensor.shape().size() != kImageAxes) {
            inputs.emplace(name, part_of(tensor, first, count));
            continue;
        }
        Array photo = array_of(replay.photos.at(static_cast<std::size_t>(first)));
        photo.shape.insert(photo.shape.begin(), 1);
        inputs.emplace(name, std::move(photo));
    }
    return inputs;
}

void append_checked(HostTensor& all, const Array& part) {
    Shape shape = part.shape;
    const std::int64_t before = all.shape().empty() ? 0 : all.elements();
    shape.front() += all.shape().empty() ? 0 : all.shape().front();
    HostTensor longer({DType::f32, shape});
    if (before > 0) std::ranges::copy(all.as<float>(), longer.as<float>().begin());
    std::ranges::copy(part.reals, longer.as<float>().begin() + before);
    all = std::move(longer);
}

}  // namespace

double difference(const HostTensor& expected, const HostTensor& got) {
    if (expected.shape() != got.shape()) return std::numeric_limits<double>::infinity();
    double greatest = 0;
    double apart = 0;
    for (std::int64_t i = 0; i < expected.elements(); ++i) {
        const double a = expected.at(i);
        const double b = got.at(i);
        if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
        greatest = std::max(greatest, std::abs(a));
        apart = std::max(apart, std::abs(a - b));
    }
    return apart / std::max(1.0, greatest);
}

double tolerance(OnnxWeights weights, bool of_photos) {
    if (weights == OnnxWeights::f32 && !of_photos) return 1e-4;
    return weights != OnnxWeights::bf16 ? 1e-2 : 5e-2;  // bfloat16 has an eighth of float16's precision
}

Outputs answers_of_onnx(const FileSystem& files, const std::string& path, const Replay& replay, Products& products) {
    const OnnxProgram program(decode(read_text(files, path, kLargestFile)), products);
    Outputs outputs;
    std::int64_t batch = 1;
    for (std::int64_t first = 0; first < replay.samples;) {
        const std::int64_t count = std::min(batch, replay.samples - first);
        for (const auto& [name, array] : program.run(inputs_of(replay, first, count)))
            append_checked(outputs[name], array);
        first += count;
        if (replay.photos.empty()) batch = first == 1 ? 7 : 8;
    }
    return outputs;
}

namespace {

double greatest_difference(const Outputs& expected, const Outputs& got) {
    double apart = 0;
    for (const auto& [name, tensor] : expected) {
        const auto found = got.find(name);
        apart = std::max(
            apart, found == got.end() ? std::numeric_limits<double>::infinity() : difference(tensor, found->second));
    }
    return apart;
}

/// Calls visit(bytes) for pieces of a file in memory, and where they begin.
template <typename Visit> void for_each_piece(const InputFile& file, const Visit& visit) {
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 24;
    std::vector<std::byte> bytes;
    for (std::uint64_t at = 0; at < file.size_bytes(); at += kPiece) {
        bytes.resize(std::min(kPiece, file.size_bytes() - at));
        file.read_at(at, bytes);
        visit(std::span<const std::byte>(bytes), at);
    }
}

void check_written(const FileSystem& files, const std::string& path, const InputFile& content) {
    const std::unique_ptr<InputFile> written = files.open(path);
    bool same = written->size_bytes() == content.size_bytes();
    std::vector<std::byte> bytes;
    for_each_piece(content, [&](std::span<const std::byte> piece, std::uint64_t at) {
        if (!same) return;
        bytes.resize(piece.size());
        written->read_at(at, bytes);
        same = std::ranges::equal(bytes, piece);
    });
    if (!same)
        throw Error(ErrorKind::storage,
                    path +
                        ": other bytes are there than were written: another process writes this file "
                        "at the same time, or the disk is damaged; convert again");
}

/// All are written before the first gets its name.
void publish(const FileSystem& memory, FileSystem& files, const std::vector<std::string>& paths) {
    std::vector<std::unique_ptr<OutputFile>> outputs;
    for (const std::string& path : paths) {
        outputs.push_back(files.create(path));
        for_each_piece(*memory.open(path),
                       [&](std::span<const std::byte> piece, std::uint64_t) { outputs.back()->write(piece); });
    }
    for (const auto& output : outputs)
        output->commit();
    for (const std::string& path : paths)
        check_written(files, path, *memory.open(path));
}

}  // namespace

double write_if_same(FileSystem& files, const std::vector<std::string>& paths, double allowed, const Outputs& expected,
                     const std::function<void(FileSystem& memory)>& write,
                     const std::function<Outputs(const FileSystem& memory)>& answers) {
    MemoryFiles memory;
    double apart = 0;
    try {
        write(memory);
        apart = greatest_difference(expected, answers(memory));
        if (!(apart <= allowed)) {
            throw Error(ErrorKind::data, "the file would answer otherwise than the network: a difference of " +
                                             formatted("%.2g", apart) + " where " + formatted("%g", allowed) +
                                             " is allowed; it was not written");
        }
    } catch (const Error& error) {
        throw error.within(paths.front());
    }
    publish(memory, files, paths);
    return apart;
}

double write_onnx(FileSystem& files, const std::string& path, const OnnxModel& model, const Replay& replay,
                  double allowed, Products& products) {
    return write_if_same(
        files, {path}, allowed, replay.outputs, [&](FileSystem& memory) { write_text(memory, path, encode(model)); },
        [&](const FileSystem& memory) { return answers_of_onnx(memory, path, replay, products); });
}

}  // namespace cnntrain::exports

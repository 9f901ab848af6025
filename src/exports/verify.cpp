// Compares written files with the network.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "cnntrain/base/axes.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/format.h"
#include "cnntrain/exports/exports.h"

namespace cnntrain::exports {

namespace {

constexpr std::size_t kImageRank = 4;
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 31;

/// Samples `first` to `first` + `count` - 1, images [N,C,H,W].
Array part_of(const HostTensor& all, std::int64_t first, std::int64_t count) {
    Shape shape = all.shape();
    shape.front() = count;
    HostTensor part({all.dtype(), shape});
    const std::size_t row = part.bytes().size() / static_cast<std::size_t>(count);
    std::memcpy(part.bytes().data(), all.bytes().data() + static_cast<std::size_t>(first) * row, part.bytes().size());
    if (shape.size() == kImageRank) part = with_axes(part, {0, 3, 1, 2});
    Array result{.shape = part.shape(), .real = part.dtype() == DType::f32};
    for (std::int64_t i = 0; i < part.elements(); ++i) {
        if (result.real) {
            result.reals.push_back(static_cast<float>(part.at(i)));
        } else {
            result.integers.push_back(static_cast<std::int64_t>(part.at(i)));
        }
    }
    return result;
}

void append(HostTensor& all, const Array& part) {
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

double tolerance(OnnxWeights weights) {
    if (weights == OnnxWeights::f32) return 1e-4;
    return weights == OnnxWeights::f16 ? 1e-2 : 5e-2;  // bfloat16 has an eighth of float16's precision
}

std::map<std::string, HostTensor> answers_of_onnx(const FileSystem& files, const std::string& path,
                                                  const Replay& replay, Products& products) {
    const OnnxProgram program(decode(read_text(files, path, kLargestFile)), products);
    std::map<std::string, HostTensor> outputs;
    std::int64_t batch = 1;
    for (std::int64_t first = 0; first < replay.samples;) {
        const std::int64_t count = std::min(batch, replay.samples - first);
        std::map<std::string, Array> inputs;
        for (const auto& [name, tensor] : replay.inputs)
            inputs.emplace(name, part_of(tensor, first, count));
        for (const auto& [name, array] : program.run(inputs))
            append(outputs[name], array);
        first += count;
        batch = first == 1 ? 7 : 8;
    }
    return outputs;
}

double kept_if_same(FileSystem& files, const std::vector<std::string>& paths, double allowed,
                    const std::map<std::string, HostTensor>& expected,
                    const std::function<std::map<std::string, HostTensor>()>& answers) {
    const auto remove = [&] {
        for (const std::string& path : paths)
            files.remove(path);
    };
    try {
        const std::map<std::string, HostTensor> got = answers();
        double apart = 0;
        for (const auto& [name, tensor] : expected) {
            const auto found = got.find(name);
            apart = std::max(apart, found == got.end() ? std::numeric_limits<double>::infinity()
                                                       : difference(tensor, found->second));
        }
        if (apart <= allowed) return apart;
        throw Error(ErrorKind::data, "the written file answers otherwise than the network: a difference of " +
                                         formatted("%.2g", apart) + " where " + formatted("%g", allowed) +
                                         " is allowed; it has been removed");
    } catch (const Error& error) {
        remove();
        throw error.within(paths.front());
    } catch (...) {
        remove();
        throw;
    }
}

double write_onnx(FileSystem& files, const std::string& path, const OnnxModel& model, const Replay& replay,
                  double allowed, Products& products) {
    write_text(files, path, encode(model));
    return kept_if_same(files, {path}, allowed, replay.outputs,
                        [&] { return answers_of_onnx(files, path, replay, products); });
}

}  // namespace cnntrain::exports

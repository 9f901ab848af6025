#include "run/metrics/tensorboard.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "cnntrain/base/text.h"
#include "cnntrain/base/wire.h"
#include "cnntrain/run/observer.h"

namespace cnntrain::metrics {
namespace {

/// Repeated numbers, as consecutive doubles.
template <typename T> std::string packed(const std::vector<T>& numbers) {
    std::string bytes;
    for (const T number : numbers)
        bytes += fixed_width(static_cast<double>(number));
    return bytes;
}

double system_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

TensorBoard::TensorBoard(FileSystem& files, TensorBoardSettings settings)
    : files_(files), settings_(std::move(settings)) {
    if (!settings_.folder.ends_with('/')) settings_.folder += '/';
    if (!settings_.clock) settings_.clock = system_seconds;
}

void TensorBoard::handle(const Row& row) {
    const Record& record = row.record;
    if (row.use != Row::Use::drawn && (row.use != Row::Use::logged || !record.is_curve_point)) return;
    WireMessage summary;
    for (const Field& field : record.fields) {
        const bool is_text = std::holds_alternative<std::string>(field.value);
        if (field.name == "iteration" || is_text || !field.measured) continue;
        const auto* whole = std::get_if<std::int64_t>(&field.value);
        const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(field.value);
        const std::string tag = field.tag.empty() ? std::string(record.table) + "/" + field.name : field.tag;
        summary.add(1, WireMessage().add(1, std::string_view(tag)).add(2, static_cast<float>(number)));
    }
    add_summary(record.curve_step.value_or(record.iteration), summary.bytes());
}

void TensorBoard::handle(const Distribution& distribution) {
    const Histogram& histogram = distribution.histogram;
    const WireMessage proto = WireMessage()
                                  .add(1, histogram.least)
                                  .add(2, histogram.most)
                                  .add(3, static_cast<double>(histogram.elements()))
                                  .add(4, histogram.sum)
                                  .add(5, histogram.sum_of_squares)
                                  .add(6, std::string_view(packed(histogram.limits)))
                                  .add(7, std::string_view(packed(histogram.counts)));
    WireMessage summary;
    summary.add(1, WireMessage().add(1, std::string_view(distribution.name)).add(5, proto));
    summary.add(
        1,
        WireMessage().add(1, std::string_view("L2/" + distribution.name)).add(2, static_cast<float>(histogram.norm())));
    add_summary(distribution.iteration, summary.bytes());
}

void TensorBoard::add_summary(std::int64_t iteration, const std::string& summary) {
    if (path_.empty()) begin_file(iteration);
    append(WireMessage().add(1, settings_.clock()).add(2, iteration).add(5, std::string_view(summary)).bytes());
}

/// Two processes started within one second (a run and its resumption) get two files; TensorBoard reads files in the
/// order of their names.
void TensorBoard::begin_file(std::int64_t iteration) {
    files_.make_directories(settings_.folder);
    const double now = settings_.clock();
    const std::string seconds = formatted("%010" PRId64, static_cast<std::int64_t>(now));
    const std::string name = settings_.folder + "events.out.tfevents." + seconds + "." + settings_.host;
    path_ = name;
    for (int number = 1; exists(files_, path_); ++number)
        path_ = name + "." + std::to_string(number);
    append(WireMessage().add(1, now).add(3, std::string_view("brain.Event:2")).bytes());
    if (settings_.resumed_at) {
        const WireMessage start = WireMessage().add(1, std::int64_t{1});
        append(WireMessage().add(1, now).add(2, std::min(iteration, *settings_.resumed_at)).add(7, start).bytes());
    }
}

void TensorBoard::append(const std::string& event) {
    const RecordFrame frame = record_frame(std::as_bytes(std::span(event)));
    files_.append(path_, frame.before + event + frame.after);
}

namespace {

/// Computes sums, minimum and maximum; returns false if any value is not finite.
bool measure(std::span<const float> values, Histogram& histogram) {
    histogram.least = histogram.most = static_cast<double>(values[0]);
    for (const float value : values) {
        if (!std::isfinite(value)) return false;
        const auto x = static_cast<double>(value);
        histogram.least = std::min(histogram.least, x);
        histogram.most = std::max(histogram.most, x);
        histogram.sum += x;
        histogram.sum_of_squares += x * x;
    }
    return true;
}

void fill_bins(std::span<const float> values, Histogram& histogram) {
    const double half = histogram.least < histogram.most ? 0 : 0.5;
    const double first = histogram.least - half;
    const double last = histogram.most + half;
    const double width = (last - first) / kHistogramBins;
    for (std::int64_t bin = 1; bin < kHistogramBins; ++bin)
        histogram.limits.push_back(first + static_cast<double>(bin) * width);
    histogram.limits.push_back(last);
    histogram.counts.assign(kHistogramBins, 0);
    for (const float value : values) {
        const auto bin = static_cast<std::int64_t>((static_cast<double>(value) - first) / width);
        ++histogram.counts[static_cast<std::size_t>(std::min(bin, kHistogramBins - 1))];
    }
}

}  // namespace

std::int64_t Histogram::elements() const {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

double Histogram::norm() const {
    return std::sqrt(sum_of_squares);
}

std::optional<Histogram> histogram_of(const HostTensor& tensor) {
    if (tensor.dtype() != DType::f32) return histogram_of(tensor.cast(DType::f32));
    Histogram histogram;
    const std::span<const float> values = tensor.as<float>();
    if (values.empty() || !measure(values, histogram)) return std::nullopt;
    fill_bins(values, histogram);
    return histogram;
}

}  // namespace cnntrain::metrics

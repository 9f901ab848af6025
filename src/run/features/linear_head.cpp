#include "run/features/linear_head.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::run {
namespace {

constexpr std::int64_t kChunk = 128;                               // rows whose logits are computed at once
constexpr std::int64_t kMostShards = 32;                           // parts of the rows with sums of their own
constexpr std::int64_t kMostShardBytes = std::int64_t{256} << 20;  // of these sums

std::size_t at(std::int64_t index) {
    return static_cast<std::size_t>(index);
}

/// Turns logits into probabilities; returns log of the sum of their exponentials.
double softmax(std::span<float> logits) {
    const float most = *std::ranges::max_element(logits);
    double sum = 0;
    for (float& logit : logits) {
        logit = std::exp(logit - most);
        sum += logit;
    }
    const auto factor = static_cast<float>(1 / sum);
    for (float& logit : logits)
        logit *= factor;
    return most + std::log(sum);
}

/// The same of several labels with sigmoids; returns the sum of their cross entropies.
double sigmoids(std::span<float> logits, std::span<const std::int32_t> labels) {
    double loss = 0;
    for (std::size_t c = 0; c < logits.size(); ++c) {
        const double logit = logits[c];
        loss += std::max(logit, 0.0) - logit * labels[c] + std::log1p(std::exp(-std::abs(logit)));
        logits[c] = static_cast<float>(1 / (1 + std::exp(-logit)));
    }
    return loss;
}

std::vector<float> in_f32(const std::vector<double>& values) {
    return {values.begin(), values.end()};
}

/// The logits of rows first..end-1.
void logits_of(const FeatureRows& rows, std::int64_t first, std::int64_t end, const std::vector<float>& weight,
               const std::vector<float>& bias, std::span<float> out) {
    const auto classes = static_cast<std::int64_t>(bias.size());
    backend::dot_rows(rows.row(first), end - first, weight.data(), classes, rows.width, out.data());
    for (std::int64_t r = 0; r < end - first; ++r) {
        for (std::int64_t c = 0; c < classes; ++c)
            out[at(r * classes + c)] += bias[at(c)];
    }
}

/// The regularised mean loss of all weights, followed by all biases. Rows are divided into shards by their number
/// alone, and sums over shards have one order.
class MeanLoss {
public:
    MeanLoss(const FeatureRows& rows, std::span<const std::int32_t> labels, std::int64_t classes, double strength,
             int threads)
        : rows_(rows), labels_(labels), classes_(classes), strength_(strength), threads_(threads) {
        const std::int64_t chunks = (rows.count() + kChunk - 1) / kChunk;
        const auto bytes = static_cast<std::int64_t>(sizeof(double)) * parameters();
        const std::int64_t shards = std::clamp<std::int64_t>(kMostShardBytes / bytes, 1, kMostShards);
        shards_.resize(at(std::min(shards, chunks)));
        chunks_per_shard_ = (chunks + std::ssize(shards_) - 1) / std::ssize(shards_);
    }

    std::int64_t parameters() const { return classes_ * (rows_.width + 1); }

    double operator()(std::span<const double> where, std::span<double> gradient) {
        const std::int64_t weights = classes_ * rows_.width;
        weight_.assign(where.begin(), where.begin() + weights);
        bias_.assign(where.begin() + weights, where.end());
        for_each_task(std::ssize(shards_), threads_, [&](std::int64_t number) { sum_shard(number); });
        double loss = 0;
        for (const Shard& shard : shards_)
            loss += shard.loss;
        const double scale = 1 / static_cast<double>(rows_.count());
        double squares = 0;
        for (std::int64_t i = 0; i < parameters(); ++i) {
            double sum = 0;
            for (const Shard& shard : shards_)
                sum += shard.gradient[at(i)];
            gradient[at(i)] = sum * scale;
            if (i >= weights) continue;
            gradient[at(i)] += strength_ * where[at(i)];
            squares += where[at(i)] * where[at(i)];
        }
        return loss * scale + strength_ / 2 * squares;
    }

private:
    struct Shard {
        double loss = 0;
        std::vector<double> gradient;
        std::vector<float> errors, sums;  // of a chunk
    };

    void sum_shard(std::int64_t number) {
        Shard& shard = shards_[at(number)];
        shard.loss = 0;
        shard.gradient.assign(at(parameters()), 0.0);
        shard.errors.resize(at(kChunk * classes_));
        const std::int64_t begin = number * chunks_per_shard_ * kChunk;
        const std::int64_t end = std::min(rows_.count(), begin + chunks_per_shard_ * kChunk);
        for (std::int64_t first = begin; first < end; first += kChunk)
            add_chunk(first, std::min(first + kChunk, end), shard);
    }

    void add_chunk(std::int64_t first, std::int64_t end, Shard& shard) const {
        logits_of(rows_, first, end, weight_, bias_, shard.errors);
        double* const biases = shard.gradient.data() + classes_ * rows_.width;
        for (std::int64_t r = 0; r < end - first; ++r) {
            const std::span<float> row(shard.errors.data() + r * classes_, at(classes_));
            if (rows_.several()) {
                const std::span<const std::int32_t> labels = rows_.labels_of(first + r);
                shard.loss += sigmoids(row, labels);
                for (std::size_t c = 0; c < row.size(); ++c)
                    row[c] -= static_cast<float>(labels[c]);
            } else {
                const auto label = at(labels_[at(first + r)]);
                const float own = row[label];
                shard.loss += softmax(row) - own;
                row[label] -= 1;
            }
            for (std::int64_t c = 0; c < classes_; ++c)
                biases[c] += row[at(c)];
        }
        shard.sums.assign(at(classes_ * rows_.width), 0.0F);
        backend::add_weighted_rows(shard.errors.data(), rows_.row(first), end - first, classes_, rows_.width,
                                   shard.sums.data());
        for (std::size_t i = 0; i < shard.sums.size(); ++i)
            shard.gradient[i] += shard.sums[i];
    }

    const FeatureRows& rows_;
    std::span<const std::int32_t> labels_;
    std::int64_t classes_;
    double strength_;
    int threads_;
    std::int64_t chunks_per_shard_ = 1;
    std::vector<Shard> shards_;
    std::vector<float> weight_, bias_;
};

/// The classes that have rows, and the labels as positions among them.
struct Present {
    std::vector<std::int32_t> classes;  // ascending
    std::vector<std::int32_t> labels;
};
Present present_classes(const FeatureRows& rows, std::int64_t classes) {
    if (rows.several()) {
        Present all;
        all.classes.resize(at(classes));
        std::iota(all.classes.begin(), all.classes.end(), 0);
        return all;
    }
    std::vector<std::int32_t> place(at(classes), -1);
    for (const std::int32_t label : rows.labels)
        place.at(at(label)) = 0;
    Present present;
    for (std::int32_t c = 0; c < classes; ++c) {
        if (place[at(c)] < 0) continue;
        place[at(c)] = static_cast<std::int32_t>(present.classes.size());
        present.classes.push_back(c);
    }
    for (const std::int32_t label : rows.labels)
        present.labels.push_back(place[at(label)]);
    return present;
}

std::vector<double> packed(const LinearHead* head, const Present& present, std::int64_t width) {
    const auto classes = std::ssize(present.classes);
    std::vector<double> values(at(classes * (width + 1)));
    if (head == nullptr) return values;
    for (std::int64_t i = 0; i < classes; ++i) {
        const std::int64_t c = present.classes[at(i)];
        std::copy_n(head->weight.begin() + c * width, width, values.begin() + i * width);
        values[at(classes * width + i)] = head->bias[at(c)];
    }
    return values;
}

LinearHead unpacked(const std::vector<double>& values, const Present& present, std::int64_t classes,
                    std::int64_t width) {
    constexpr double kBelow = 10;  // a probability of at most e^-10 of an average one
    const auto solved = std::ssize(present.classes);
    const auto biases = std::span(values).subspan(at(solved * width));
    double mean = 0;
    for (const double bias : biases)
        mean += bias / static_cast<double>(solved);
    LinearHead head{classes, width, std::vector<double>(at(classes * width)),
                    std::vector<double>(at(classes), mean - kBelow)};
    for (std::int64_t i = 0; i < solved; ++i) {
        const std::int64_t c = present.classes[at(i)];
        std::copy_n(values.begin() + i * width, width, head.weight.begin() + c * width);
        head.bias[at(c)] = biases[at(i)];
    }
    return head;
}

}  // namespace

FeatureRows chosen_rows(const FeatureRows& rows, std::span<const std::int64_t> numbers) {
    FeatureRows chosen;
    chosen.width = rows.width;
    chosen.labels_each = rows.labels_each;
    chosen.values.reserve(numbers.size() * at(rows.width));
    for (const std::int64_t number : numbers) {
        chosen.values.insert(chosen.values.end(), rows.row(number), rows.row(number) + rows.width);
        std::ranges::copy(rows.labels_of(number), std::back_inserter(chosen.labels));
    }
    return chosen;
}

void Standardisation::apply(FeatureRows& rows) const {
    for (std::int64_t r = 0; r < rows.count(); ++r) {
        float* const row = rows.values.data() + r * rows.width;
        for (std::int64_t k = 0; k < rows.width; ++k)
            row[k] = (row[k] - mean[at(k)]) * inverse_deviation[at(k)];
    }
}

Standardisation standardisation_of(const FeatureRows& rows) {
    const auto count = static_cast<double>(rows.count());
    std::vector<double> mean(at(rows.width)), variance(at(rows.width));
    for (std::int64_t r = 0; r < rows.count(); ++r) {
        for (std::int64_t k = 0; k < rows.width; ++k)
            mean[at(k)] += rows.row(r)[k] / count;
    }
    for (std::int64_t r = 0; r < rows.count(); ++r) {
        for (std::int64_t k = 0; k < rows.width; ++k) {
            const double distance = rows.row(r)[k] - mean[at(k)];
            variance[at(k)] += distance * distance / count;
        }
    }
    Standardisation how;
    how.mean = in_f32(mean);
    for (std::int64_t k = 0; k < rows.width; ++k) {
        const double rounding = 1e-6 * std::abs(mean[at(k)]);
        const double deviation = std::sqrt(variance[at(k)]);
        how.inverse_deviation.push_back(deviation > rounding ? static_cast<float>(1 / deviation) : 0.0F);
    }
    return how;
}

LinearHead for_plain_features(LinearHead head, const Standardisation& how) {
    for (std::int64_t c = 0; c < head.classes; ++c) {
        for (std::int64_t k = 0; k < head.width; ++k) {
            double& weight = head.weight[at(c * head.width + k)];
            weight *= how.inverse_deviation[at(k)];
            head.bias[at(c)] -= weight * how.mean[at(k)];
        }
    }
    return head;
}

Fit fit_head(const FeatureRows& rows, std::int64_t classes, const FitSettings& settings, const LinearHead* start) {
    CNNTRAIN_CHECK(rows.count() > 0 && rows.width > 0, "a head is fitted to rows");
    const Present present = present_classes(rows, classes);
    MeanLoss loss(rows, present.labels, std::ssize(present.classes), settings.strength, settings.threads);
    MinimiseSettings how{.gradient_tolerance = settings.exact ? 1e-6 : 1e-4,
                         .value_tolerance = settings.exact ? 1e-7 : 1e-4,
                         .stop_requested = settings.stop_requested};
    const Minimum minimum = minimise([&](auto where, auto gradient) { return loss(where, gradient); },
                                     packed(start, present, rows.width), how);
    return {unpacked(minimum.at, present, classes, rows.width), minimum.value, minimum.iterations, minimum.converged};
}

std::vector<float> probabilities(const LinearHead& head, const FeatureRows& rows, int threads) {
    const std::vector<float> weight = in_f32(head.weight);
    const std::vector<float> bias = in_f32(head.bias);
    std::vector<float> result(at(rows.count() * head.classes));
    for_each_task((rows.count() + kChunk - 1) / kChunk, threads, [&](std::int64_t chunk) {
        const std::int64_t first = chunk * kChunk;
        const std::int64_t end = std::min(first + kChunk, rows.count());
        const std::span<float> out(result.data() + first * head.classes, at((end - first) * head.classes));
        logits_of(rows, first, end, weight, bias, out);
        for (std::int64_t r = 0; r < end - first; ++r) {
            const std::span<float> row = out.subspan(at(r * head.classes), at(head.classes));
            rows.several() ? sigmoids(row, rows.labels_of(first + r)) : softmax(row);
        }
    });
    return result;
}

namespace {

/// A probability near 1 has no difference from 1 in float, so the loss comes from the logits.
HeadScore score_of_labels(const LinearHead& head, const FeatureRows& rows, int threads) {
    const std::vector<float> weight = in_f32(head.weight);
    const std::vector<float> bias = in_f32(head.bias);
    std::vector<HeadScore> chunks(at((rows.count() + kChunk - 1) / kChunk));
    for_each_task(std::ssize(chunks), threads, [&](std::int64_t chunk) {
        const std::int64_t first = chunk * kChunk;
        const std::int64_t end = std::min(first + kChunk, rows.count());
        std::vector<float> out(at((end - first) * head.classes));
        logits_of(rows, first, end, weight, bias, out);
        for (std::int64_t r = first; r < end; ++r) {
            const std::span<float> row(out.data() + (r - first) * head.classes, at(head.classes));
            chunks[at(chunk)].loss += sigmoids(row, rows.labels_of(r));
            for (std::size_t c = 0; c < row.size(); ++c)
                chunks[at(chunk)].accuracy += (row[c] > 0.5F) == (rows.labels_of(r)[c] == 1) ? 1 : 0;
        }
    });
    HeadScore result;
    for (const HeadScore& chunk : chunks) {
        result.loss += chunk.loss / static_cast<double>(rows.count());
        result.accuracy += chunk.accuracy / static_cast<double>(rows.count() * head.classes);
    }
    return result;
}

}  // namespace

HeadScore score(const LinearHead& head, const FeatureRows& rows, int threads) {
    if (rows.several()) return score_of_labels(head, rows, threads);
    constexpr double kLeast = 1e-30;  // a probability that rounds to 0
    const std::vector<float> all = probabilities(head, rows, threads);
    HeadScore result;
    for (std::int64_t r = 0; r < rows.count(); ++r) {
        const std::span<const float> row(all.data() + r * head.classes, at(head.classes));
        const auto label = at(rows.labels[at(r)]);
        result.loss -= std::log(std::max<double>(row[label], kLeast));
        if (std::ranges::max_element(row) - row.begin() == static_cast<std::ptrdiff_t>(label)) result.accuracy += 1;
    }
    const auto count = static_cast<double>(rows.count());
    return {result.loss / count, result.accuracy / count};
}

ChosenStrength choose_strength(const FeatureRows& rows, const FeatureRows& held_out, std::int64_t classes,
                               const FitSettings& settings) {
    constexpr int kStrongest = 4;   // half powers of ten: 100
    constexpr int kWeakest = -12;   // 1e-6
    constexpr int kRises = 2;       // after the least loss
    constexpr double kFall = 1e-4;  // share of the loss that counts as a fall
    ChosenStrength chosen;
    double least = std::numeric_limits<double>::infinity();
    std::optional<LinearHead> last;
    int rises = 0;
    for (int half = kStrongest; half >= kWeakest && rises < kRises; --half) {
        FitSettings how = settings;
        how.strength = std::pow(10.0, half / 2.0);
        how.exact = false;
        last = fit_head(rows, classes, how, last ? &*last : nullptr).head;
        const double loss = score(*last, held_out, settings.threads).loss;
        chosen.tried.push_back({how.strength, loss});
        rises = loss < least * (1 - kFall) ? 0 : rises + 1;
        if (rises > 0) continue;
        least = loss;
        chosen.strength = how.strength;
        chosen.head = *last;
    }
    if (chosen.head.classes == 0)
        throw Error(ErrorKind::diverged, "the last layer cannot be solved: its loss on held-out samples is not finite");
    return chosen;
}

std::vector<std::int32_t> stratified_parts(std::span<const std::int32_t> labels, std::int32_t parts,
                                           std::uint64_t seed) {
    std::map<std::int32_t, std::vector<std::size_t>> of_class;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] >= 0) of_class[labels[i]].push_back(i);
    }
    const std::uint64_t key = seed ^ hash_text("parts of samples");  // the loader shuffles with the seed itself
    std::vector<std::int32_t> part(labels.size(), 0);
    std::size_t next = 0;  // goes on from class to class, so that parts have equal sizes
    for (const auto& [label, members] : of_class) {
        const auto count = static_cast<std::uint32_t>(members.size());
        for (const std::uint32_t member : shuffled_order(key, static_cast<std::uint32_t>(label), count))
            part[members[member]] = static_cast<std::int32_t>(next++ % static_cast<std::size_t>(parts));
    }
    return part;
}

namespace {

constexpr std::size_t kPairs = 8;      // steps that approximate the curvature
constexpr std::size_t kPatience = 10;  // iterations over which the value must fall
constexpr int kMostTrials = 30;        // of a line search
constexpr double kDecrease = 1e-4;     // share of the decrease that the slope promises
constexpr double kCurvature = 0.9;     // share of the slope that may be left
constexpr double kRounding = 1e-7;     // share of the value that rounding may change

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// y += factor * x
void add(double factor, const Vector& x, Vector& y) {
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] += factor * x[i];
}

double largest(const Vector& x) {
    double most = 0;
    for (const double element : x)
        most = std::max(most, std::abs(element));
    return most;
}

struct Pair {
    Vector step, change;  // of the point, and of the gradient along it
    double product = 0;   // of both
};

/// The two loops that apply the approximate inverse Hessian to -gradient.
Vector descent_direction(const Vector& gradient, const std::deque<Pair>& pairs) {
    Vector direction(gradient.size());
    std::ranges::transform(gradient, direction.begin(), std::negate<>());
    std::vector<double> factors(pairs.size());
    for (std::size_t i = pairs.size(); i-- > 0;) {
        factors[i] = dot(pairs[i].step, direction) / pairs[i].product;
        add(-factors[i], pairs[i].change, direction);
    }
    const double scale = pairs.empty() ? 1 / std::max(1.0, std::sqrt(dot(gradient, gradient)))
                                       : pairs.back().product / dot(pairs.back().change, pairs.back().change);
    for (double& element : direction)
        element *= scale;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        add(factors[i] - dot(pairs[i].change, direction) / pairs[i].product, pairs[i].step, direction);
    return direction;
}

struct SearchPoint {
    Vector at, gradient;
    double value = 0;
};

/// A point along the direction with enough decrease and enough of the slope used up, by bisection. Where rounding hides
/// the decrease, the slope decides (the approximate conditions of Hager and Zhang). Nothing if there is no such point.
std::optional<SearchPoint> line_search(const SmoothFunction& function, const SearchPoint& from,
                                       const Vector& direction) {
    const double slope = dot(from.gradient, direction);
    if (!(slope < 0)) return std::nullopt;
    double low = 0;
    double high = std::numeric_limits<double>::infinity();
    double length = 1;
    SearchPoint next{Vector(from.at.size()), Vector(from.at.size())};
    for (int trial = 0; trial < kMostTrials; ++trial) {
        next.at = from.at;
        add(length, direction, next.at);
        next.value = function(next.at, next.gradient);
        const double next_slope = dot(next.gradient, direction);
        const bool is_level = next.value <= from.value + kRounding * std::abs(from.value);
        const bool falls = next.value <= from.value + kDecrease * length * slope ||  // false for NaN
                           (is_level && next_slope <= (2 * kDecrease - 1) * slope);
        if (falls && next_slope >= kCurvature * slope) return next;
        (falls ? low : high) = length;
        length = std::isinf(high) ? 2 * length : (low + high) / 2;
    }
    return std::nullopt;
}

}  // namespace

Minimum minimise(const SmoothFunction& function, std::vector<double> start, const MinimiseSettings& settings) {
    SearchPoint now{std::move(start), {}};
    now.gradient.resize(now.at.size());
    now.value = function(now.at, now.gradient);
    std::deque<Pair> pairs;
    std::deque<double> values = {now.value};  // of the last iterations
    Minimum result;
    while (result.iterations < settings.most_iterations) {
        result.converged =
            largest(now.gradient) <= settings.gradient_tolerance ||
            (values.size() > kPatience && values.front() - now.value <= settings.value_tolerance * std::abs(now.value));
        if (result.converged) break;
        if (settings.stop_requested && settings.stop_requested()) throw Interrupted();
        std::optional<SearchPoint> next = line_search(function, now, descent_direction(now.gradient, pairs));
        if (!next && pairs.empty()) break;
        if (!next) {  // once more along the gradient
            pairs.clear();
            continue;
        }
        ++result.iterations;
        Pair pair{next->at, next->gradient};
        add(-1, now.at, pair.step);
        add(-1, now.gradient, pair.change);
        pair.product = dot(pair.step, pair.change);
        if (pair.product > std::numeric_limits<double>::epsilon() * dot(pair.change, pair.change))
            pairs.push_back(std::move(pair));
        if (pairs.size() > kPairs) pairs.pop_front();
        now = std::move(*next);
        values.push_back(now.value);
        if (values.size() > kPatience + 1) values.pop_front();
    }
    result.at = std::move(now.at);
    result.value = now.value;
    return result;
}

}  // namespace cnntrain::run

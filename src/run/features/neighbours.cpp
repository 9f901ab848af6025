#include "run/features/neighbours.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/features/features.h"
#include "run/features/linear_head.h"

namespace cnntrain::run {

namespace {

constexpr std::int64_t kBlock = 64;  // rows whose neighbours are sought at once
constexpr std::int64_t kTile = 256;  // rows with which they are compared at once

bool is_nearer(const Neighbour& a, const Neighbour& b) {
    return a.cosine != b.cosine ? a.cosine > b.cosine : a.row < b.row;
}

/// Keeps the nearest ones, as a heap whose first is the farthest.
void offer(std::vector<Neighbour>& kept, std::size_t count, const Neighbour& candidate) {
    if (kept.size() == count) {
        if (!is_nearer(candidate, kept.front())) return;
        std::ranges::pop_heap(kept, is_nearer);
        kept.pop_back();
    }
    kept.push_back(candidate);
    std::ranges::push_heap(kept, is_nearer);
}

}  // namespace

Directions::Directions(const FeatureRows& of) : mean(standardisation_of(of).mean) {}

void Directions::apply(FeatureRows& rows) const {
    for (std::int64_t r = 0; r < rows.count(); ++r) {
        float* const begin = rows.values.data() + r * rows.width;
        double squares = 0;
        for (std::int64_t k = 0; k < rows.width; ++k) {
            begin[k] -= mean[static_cast<std::size_t>(k)];
            squares += double{begin[k]} * begin[k];
        }
        if (squares == 0) continue;
        const auto factor = static_cast<float>(1 / std::sqrt(squares));
        std::for_each(begin, begin + rows.width, [&](float& value) { value *= factor; });
    }
}

std::vector<std::vector<Neighbour>> nearest(const FeatureRows& rows, const FeatureRows& among, std::size_t count,
                                            bool leave_out_itself, int threads) {
    std::vector<std::vector<Neighbour>> result(static_cast<std::size_t>(rows.count()));
    for_each_task((rows.count() + kBlock - 1) / kBlock, threads, [&](std::int64_t block) {
        const std::int64_t begin = block * kBlock;
        const std::int64_t end = std::min(begin + kBlock, rows.count());
        std::vector<float> cosines(static_cast<std::size_t>(kBlock * kTile));
        for (std::int64_t first = 0; first < among.count(); first += kTile) {
            const std::int64_t columns = std::min(kTile, among.count() - first);
            backend::dot_rows(rows.row(begin), end - begin, among.row(first), columns, rows.width, cosines.data());
            for (std::int64_t r = begin; r < end; ++r) {
                for (std::int64_t c = 0; c < columns; ++c) {
                    if (leave_out_itself && first + c == r) continue;
                    offer(result[static_cast<std::size_t>(r)], count,
                          {first + c, cosines[static_cast<std::size_t>((r - begin) * columns + c)]});
                }
            }
        }
        for (std::int64_t r = begin; r < end; ++r)
            std::ranges::sort_heap(result[static_cast<std::size_t>(r)], is_nearer);
    });
    return result;
}

namespace {

constexpr std::int32_t kFolds = 5;

std::size_t place_at(std::int64_t index) {
    return static_cast<std::size_t>(index);
}

/// The labelled samples of a split: row i is sample numbers[i].
struct Labelled {
    std::vector<std::int64_t> numbers;
    FeatureRows rows;
};
Labelled labelled(const SplitFeatures& split) {
    Labelled result{labelled_samples(split), {}};
    result.rows = feature_rows(split, result.numbers, 1);
    return result;
}

/// Probabilities of each row's classes, [N,C], by heads that are fitted without the row.
class HeldOutHeads {
public:
    HeldOutHeads(std::int64_t classes, std::uint64_t seed, FitSettings how)
        : classes_(classes), seed_(seed), how_(std::move(how)) {}

    std::vector<float> of_training(const FeatureRows& rows) {
        const std::vector<std::int32_t> folds = stratified_parts(rows.labels, kFolds, seed_);
        std::vector<float> result(place_at(rows.count() * classes_));
        for (std::int32_t fold = 0; fold < kFolds; ++fold) {
            std::vector<std::int64_t> inside, outside;
            for (std::int64_t r = 0; r < rows.count(); ++r)
                (folds[place_at(r)] == fold ? inside : outside).push_back(r);
            if (inside.empty()) continue;
            const std::vector<float> part = predicted(chosen_rows(rows, outside), chosen_rows(rows, inside));
            auto next = part.begin();
            for (const std::int64_t r : inside) {
                std::copy_n(next, classes_, result.begin() + r * classes_);
                next += classes_;
            }
        }
        return result;
    }

    /// Probabilities of `rows` by a head that is fitted to `fitted`. The first call chooses the strength for all.
    std::vector<float> predicted(FeatureRows fitted, FeatureRows rows) {
        const Standardisation standardisation = standardisation_of(fitted);
        standardisation.apply(fitted);
        standardisation.apply(rows);
        if (!strength_) strength_ = choose_strength(fitted, rows, classes_, how_).strength;
        how_.strength = *strength_;
        how_.exact = false;
        return probabilities(fit_head(fitted, classes_, how_).head, rows, how_.threads);
    }

private:
    std::int64_t classes_;
    std::uint64_t seed_;
    FitSettings how_;
    std::optional<double> strength_;
};

class Search {
public:
    Search(const FeatureSource& source, const FeatureSet& set, std::vector<std::string> class_names,
           const SuspectSettings& settings, int threads)
        : source_(source), names_(std::move(class_names)), settings_(settings), threads_(threads) {
        training_ = labelled(set.training);
        if (training_.rows.count() < 2) {
            throw Error(ErrorKind::data, settings.folder +
                                             ": expected at least two training samples with labels, found " +
                                             std::to_string(training_.rows.count()));
        }
        if (set.validation) validation_ = labelled(*set.validation);
        if (validation_ && validation_->rows.count() == 0) validation_.reset();
    }

    SuspectReport run(HeldOutHeads heads) {
        SuspectReport report{{}, {}, training_.rows.count(), validation_ ? validation_->rows.count() : 0};
        const std::vector<float> of_training = heads.of_training(training_.rows);
        std::vector<float> of_validation;
        if (validation_) of_validation = heads.predicted(training_.rows, validation_->rows);
        const Directions directions(training_.rows);
        directions.apply(training_.rows);
        add_suspects(data::Split::train, training_, of_training, report);
        if (validation_) {
            directions.apply(validation_->rows);
            add_suspects(data::Split::validation, *validation_, of_validation, report);
            add_duplicates(report);
        }
        std::ranges::stable_sort(report.suspects, std::greater<>(), &Suspect::score);
        std::ranges::stable_sort(report.duplicates, std::greater<>(), &Duplicate::similarity);
        return report;
    }

private:
    std::string class_text(std::int64_t label) const {
        return names_.empty() ? std::to_string(label) : names_.at(place_at(label));
    }
    std::string sample_text(data::Split split, std::int64_t row) const {
        if (split == data::Split::train) return source_.training().describe(training_.numbers[place_at(row)]);
        return source_.validation()->describe(validation_->numbers[place_at(row)]);
    }

    void add_suspects(data::Split split, const Labelled& samples, const std::vector<float>& probability,
                      SuspectReport& report) const {
        constexpr float kLeast = 1e-12F;  // a probability that rounds to 0
        const std::int64_t classes = std::ssize(probability) / samples.rows.count();
        const auto near =
            nearest(samples.rows, training_.rows, settings_.neighbours, split == data::Split::train, threads_);
        for (std::int64_t r = 0; r < samples.rows.count(); ++r) {
            const std::int32_t label = samples.rows.labels[place_at(r)];
            const float* const row = probability.data() + r * classes;
            std::int64_t other = label == 0 ? 1 : 0;
            for (std::int64_t c = 0; c < classes; ++c) {
                if (c != label && row[c] > row[other]) other = c;
            }
            Suspect suspect;
            suspect.split = split;
            suspect.sample = sample_text(split, r);
            suspect.label = class_text(label);
            suspect.other_label = class_text(other);
            suspect.score = std::log(std::max(row[other], kLeast)) - std::log(std::max(row[label], kLeast));
            std::map<std::int32_t, double> votes;
            for (const Neighbour& one : near[place_at(r)])
                votes[training_.rows.labels[place_at(one.row)]] += 1 / static_cast<double>(near[place_at(r)].size());
            suspect.neighbours_share = votes[label];
            suspect.neighbours_label =
                class_text(std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; })->first);
            report.suspects.push_back(std::move(suspect));
        }
    }

    void add_duplicates(SuspectReport& report) const {
        constexpr std::size_t kMost = 8;  // of one sample
        const auto near = nearest(validation_->rows, training_.rows, kMost, false, threads_);
        for (std::int64_t r = 0; r < validation_->rows.count(); ++r) {
            for (const Neighbour& one : near[place_at(r)]) {
                if (one.cosine < settings_.least_similarity) break;
                report.duplicates.push_back(
                    {sample_text(data::Split::train, one.row), sample_text(data::Split::validation, r), one.cosine,
                     training_.rows.labels[place_at(one.row)] == validation_->rows.labels[place_at(r)]});
            }
        }
    }

    const FeatureSource& source_;
    std::vector<std::string> names_;
    const SuspectSettings& settings_;
    int threads_;
    Labelled training_;
    std::optional<Labelled> validation_;
};

}  // namespace

SuspectReport find_suspects(const TaskRow& row, const options::ParseResult& arguments, const SuspectSettings& settings,
                            const Host& host, metrics::Observers& observers) {
    const auto seed = static_cast<std::uint64_t>(arguments.settings.device.seed.value_or(0));
    const auto backend = make_backend(arguments.settings.run.backend);
    const std::unique_ptr<Task> task = row.make(arguments, *backend, seed);
    if (task->classifier() == nullptr || !task->has_real_data()) {
        throw Error(ErrorKind::usage,
                    settings.folder + ": its run gives no real samples a class, so no label is suspicious");
    }
    const FeatureCache cache(*host.files, feature_cache_path(arguments.settings, settings.folder), "--feature-cache");
    const EvaluationWork work{*task, *backend, arguments, seed, host, observers};
    const FeatureSource source(work, arguments.settings.validation.enabled);
    weights::Checkpoint checkpoint =
        weights::load(*host.files, settings.checkpoint, weights::edited_if(arguments.settings.checkpoint.trust_edited));
    const std::map<std::string, HostTensor> weights =
        model_variables(source.graph(), std::move(checkpoint), settings.checkpoint);
    const FeatureSet set = cached_features(work, source, cache, weights, 1);
    const int threads = compute_threads(arguments.settings.run);
    const std::int64_t classes = source.graph().desc(*source.graph().find(source.last_layer().bias)).elements();
    Search search(source, set, task->class_names(), settings, threads);
    return search.run(HeldOutHeads(classes, seed, {.threads = threads, .stop_requested = host.stop_requested}));
}

}  // namespace cnntrain::run

// Multinomial logistic regression with L2 regularisation: the last layer of a network, solved from its features.
//
// N rows x of F standardised features with labels y in 0..C-1. The weights W [C,F] and biases b [C] minimise
//
//     1/N sum of -log softmax(W x + b)[y]  +  strength / 2 * sum of W^2.
//
// Biases are not regularised. Classes without a row take no part; their logits lie far below the others. Results do not
// depend on the number of threads. Rows with several labels of 0 and 1 have the sum over the labels of the cross
// entropy of sigmoid(W x + b) instead: a regression for each label.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace cnntrain::run {

/// Features with labels.
struct FeatureRows {
    std::vector<float> values;         // [N,F]
    std::vector<std::int32_t> labels;  // [N,L]
    std::int64_t width = 0;            // F
    std::int64_t labels_each = 1;      // L: 1, or the number of several labels of 0 and 1

    std::int64_t count() const { return static_cast<std::int64_t>(labels.size()) / labels_each; }
    bool several() const { return labels_each > 1; }
    std::span<const std::int32_t> labels_of(std::int64_t number) const {
        return std::span(labels).subspan(static_cast<std::size_t>(number * labels_each),
                                         static_cast<std::size_t>(labels_each));
    }
    const float* row(std::int64_t number) const { return values.data() + number * width; }
};
/// The rows with these numbers.
FeatureRows chosen_rows(const FeatureRows& rows, std::span<const std::int64_t> numbers);

/// Makes each feature's mean 0 and its deviation 1. A feature that never changes stays at 0.
struct Standardisation {
    std::vector<float> mean, inverse_deviation;  // [F]; the latter is 0 for a feature that never changes

    void apply(FeatureRows& rows) const;
};
Standardisation standardisation_of(const FeatureRows& rows);

struct LinearHead {
    std::int64_t classes = 0;
    std::int64_t width = 0;
    std::vector<double> weight;  // [C,F]
    std::vector<double> bias;    // [C]
};
/// The head for features that are not standardised.
LinearHead for_plain_features(LinearHead head, const Standardisation& how);

struct FitSettings {
    double strength = 1e-3;
    bool exact = true;  // false: stops earlier, for comparing strengths
    int threads = 1;
    std::function<bool()> stop_requested = {};  // empty: never stops
};
struct Fit {
    LinearHead head;
    double objective = 0;
    int iterations = 0;
    bool converged = false;
};
/// `start`: a head from which to start, for as many classes; null: zeros. Throws Interrupted if a stop is requested.
Fit fit_head(const FeatureRows& rows, std::int64_t classes, const FitSettings& settings,
             const LinearHead* start = nullptr);

struct HeadScore {
    double loss = 0;      // mean over the rows
    double accuracy = 0;  // share of rows, or of several labels, that are right
};
HeadScore score(const LinearHead& head, const FeatureRows& rows, int threads);
/// softmax(W x + b) of each row, [N,C]; the sigmoid where rows have several labels.
std::vector<float> probabilities(const LinearHead& head, const FeatureRows& rows, int threads);

struct TriedStrength {
    double strength = 0;
    double held_out_loss = 0;
};
struct ChosenStrength {
    double strength = 0;               // with the least loss on the held-out rows, within a share of 1e-4
    LinearHead head;                   // of this strength, fitted to the rows
    std::vector<TriedStrength> tried;  // from strong to weak
};
/// Tries strengths in steps of half a power of ten, from strong to weak, until the held-out loss falls no more.
/// Error(diverged) if no loss is finite.
ChosenStrength choose_strength(const FeatureRows& rows, const FeatureRows& held_out, std::int64_t classes,
                               const FitSettings& settings);

/// Divides samples into `parts` parts, with a share of each class in each; returns the part of each sample. Samples of
/// a class are dealt in an order that the seed decides; a negative label has part 0.
std::vector<std::int32_t> stratified_parts(std::span<const std::int32_t> labels, std::int32_t parts,
                                           std::uint64_t seed);

// Minimises a smooth function by L-BFGS (limited-memory BFGS) with a line search for the weak Wolfe conditions.

/// Returns the value at `at` and writes the gradient there.
using SmoothFunction = std::function<double(std::span<const double> at, std::span<double> gradient)>;

struct MinimiseSettings {
    double gradient_tolerance = 1e-5;           // converged: no element of the gradient is larger,
    double value_tolerance = 1e-7;              // or ten iterations lower the value by less than this share of it
    int most_iterations = 1000;                 // each evaluates the function about once
    std::function<bool()> stop_requested = {};  // called once an iteration; empty: never stops
};

struct Minimum {
    std::vector<double> at;
    double value = 0;
    int iterations = 0;
    bool converged = false;
};

/// Throws Interrupted if a stop is requested.
Minimum minimise(const SmoothFunction& function, std::vector<double> start, const MinimiseSettings& settings);

// Work in independent tasks on several threads.

/// Calls work(task) for each of 0..tasks-1, on this thread and others. A task's result must not depend on which thread
/// does it. If one throws, no further task begins, and the first exception is thrown when those that run have ended.
template <typename Work> void for_each_task(std::int64_t tasks, int threads, const Work& work) {
    std::atomic<std::int64_t> next{0};
    std::once_flag failed;
    std::exception_ptr failure;
    const auto take_tasks = [&] {
        try {
            for (std::int64_t task = next++; task < tasks; task = next++)
                work(task);
        } catch (...) {
            next = tasks;
            std::call_once(failed, [&] { failure = std::current_exception(); });
        }
    };
    {
        std::vector<std::jthread> others;
        for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, tasks); ++i)
            others.emplace_back(take_tasks);
        take_tasks();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace cnntrain::run

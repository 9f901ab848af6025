#include "data/sets/pretraining.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "data/records/pretraining_keys.h"
#include "data/sets/file_patterns.h"
#include "data/sets/packed_sequences.h"

namespace cnntrain::data {
namespace {

constexpr const char* kIndexName = "pretraining.cnntrain-index";

/// The options that set a limit: in pretraining, and when records are written.
struct LimitOptions {
    std::string reading;
    std::string writing;
};

LimitOptions options_of(PretrainingLimit limit) {
    switch (limit) {
        case PretrainingLimit::sequence_length:
            return {"--seq-length", "--sequence-length"};
        case PretrainingLimit::max_predictions:
            return {"--max-predictions-per-seq", "--mask-tokens"};
        case PretrainingLimit::vocabulary_size:
            return {"--vocab-size", "another --vocab-file"};
        case PretrainingLimit::max_positions:
            return {"--max-position-embeddings", "another --pad-position-value"};
        case PretrainingLimit::type_vocabulary:
            return {"--type-vocab-size", ""};
        case PretrainingLimit::none:
            break;
    }
    return {};
}

/// Advice on how to make the settings and the records fit.
std::string advice(const PretrainingFault& fault, std::int64_t wanted_length) {
    const LimitOptions options = options_of(fault.limit);
    if (options.reading.empty()) return {};
    if (fault.kind == PretrainingFault::Kind::wrong_length) {
        return "; give " + options.reading + " " + std::to_string(fault.found) + ", or make the records with " +
               options.writing + " " + std::to_string(wanted_length);
    }
    return "; a model that takes it has " + options.reading + " " + std::to_string(fault.found + 1) + " or more" +
           (options.writing.empty() ? "" : ", or make the records with " + options.writing);
}

/// Advice on another layout than that of the settings.
std::string layout_advice(const PretrainingSettings& found, const PretrainingSettings& settings) {
    if (found.packed != settings.packed) {
        return found.packed ? "; the record holds several sequences (made with --packed): give --packed"
                            : "; the record holds one sequence, but those of the first file hold several (made with "
                              "--packed): read them apart";
    }
    if (found.static_mask == settings.static_mask) return {};
    return found.static_mask ? "; the record has its masked tokens in front (made with --remask): give --static-mask"
                             : "; the record is of the plain layout (made without --remask): leave --static-mask out";
}

void check_sequences(const PretrainingSettings& settings) {
    const auto refuse = [](const std::string& what) { throw Error(ErrorKind::usage, what); };
    const auto at_least_one = [&](std::int64_t value, const char* option) {
        if (value < 1) refuse(std::string(option) + " is " + std::to_string(value) + ", not 1 or more");
    };
    at_least_one(settings.sequence_length, "--seq-length");
    at_least_one(settings.max_predictions, "--max-predictions-per-seq");
    at_least_one(settings.vocabulary_size, "--vocab-size");
    at_least_one(settings.max_positions, "--max-position-embeddings");
    at_least_one(settings.type_vocabulary, "--type-vocab-size");
    if (settings.max_predictions >= settings.sequence_length) {
        refuse("--max-predictions-per-seq is " + std::to_string(settings.max_predictions) +
               ", too many for the sequences of --seq-length " + std::to_string(settings.sequence_length));
    }
    if (settings.sequence_length > settings.max_positions) {
        refuse("--seq-length is " + std::to_string(settings.sequence_length) +
               ", more than the positions that the model knows (--max-position-embeddings " +
               std::to_string(settings.max_positions) + ")");
    }
}

/// Whether the first record holds several sequences.
bool holds_rows(const std::vector<std::string>& paths) {
    const RecordFiles records({paths.front()});
    std::vector<std::byte> buffer;
    const auto found = records.size() > 0 ? settings_of_record(records.read(0, buffer)) : std::nullopt;
    return found && found->packed;
}

}  // namespace

std::vector<Field> pretraining_fields(const PretrainingSettings& settings) {
    std::vector<Field> fields;
    for (const PretrainingKey& key : pretraining_keys(settings)) {
        const DType type = key.type == FeatureType::floats ? DType::f32 : DType::i32;
        fields.push_back({std::string(key.field), {type, {key.length}}});
    }
    return fields;
}

std::vector<std::string> pretraining_files(const std::string& patterns) {
    return matching_files(patterns);
}

PretrainingFiles::PretrainingFiles(std::vector<std::string> paths, const PretrainingSettings& settings,
                                   const RecordOptions& options)
    : settings_(settings), keys_(pretraining_keys(settings)), records_(std::move(paths), options) {
    if (records_.size() == 0) {
        throw Error(ErrorKind::data, "there is no record in " + records_.paths().front() +
                                         (records_.paths().size() > 1 ? " and the files beside it" : ""));
    }
    std::vector<std::vector<std::byte>> fields;
    std::vector<std::span<std::byte>> view;
    for (const Field& field : pretraining_fields(settings))
        view.emplace_back(fields.emplace_back(field.desc.bytes()));
    Workspace workspace;
    for (std::size_t file = 0; file < records_.paths().size(); ++file) {
        const std::int64_t first = records_.first_record(file);
        if (first < records_.first_record(file + 1)) read(first, {}, view, workspace);
    }
}

SampleState PretrainingFiles::read(std::int64_t index, SamplePosition, SampleView out, Workspace& workspace) const {
    const auto start = std::chrono::steady_clock::now();
    const std::span<const std::byte> record = records_.read(index, workspace.record);
    const auto parse = std::chrono::steady_clock::now();
    if (const auto fault = parse_pretraining_example(record, keys_, out)) fail(index, record, *fault);
    workspace.seconds.read += std::chrono::duration<double>(parse - start).count();
    workspace.seconds.parse += seconds_since(parse);
    return SampleState::counted;
}

void PretrainingFiles::fail(std::int64_t index, std::span<const std::byte> record,
                            const PretrainingFault& fault) const {
    std::string what = fault.what;
    const std::optional<PretrainingSettings> found = settings_of_record(record);
    if (found && fault.kind == PretrainingFault::Kind::missing_key) what += layout_advice(*found, settings_);
    const bool of_tokens = fault.limit == PretrainingLimit::sequence_length;
    what += advice(fault, of_tokens ? settings_.sequence_length : settings_.max_predictions);
    const bool counts_masked =
        fault.kind == PretrainingFault::Kind::wrong_value && fault.limit == PretrainingLimit::none;
    if (counts_masked && found && found->max_predictions != settings_.max_predictions) {
        what += advice({.kind = PretrainingFault::Kind::wrong_length,
                        .what = {},
                        .limit = PretrainingLimit::max_predictions,
                        .found = found->max_predictions},
                       settings_.max_predictions);
    }
    throw Error(ErrorKind::data, records_.describe(index) + ": " + what);
}

void PretrainingFiles::pad(SampleView out) const {
    store_empty_sequence(settings_, out);
}

std::shared_ptr<const Dataset> open_pretraining(const PretrainingSettings& settings, std::uint64_t seed, int threads) {
    check_sequences(settings);
    if (settings.generated) return std::make_shared<GeneratedSequences>(settings, seed);
    RecordOptions options;
    options.threads = threads;
    options.index_name = kIndexName;
    options.cache_bytes = static_cast<std::int64_t>(settings.cache_gb * 1e9);
    const std::vector<std::string> paths = matching_files(settings.files);
    if (!settings.packed || holds_rows(paths)) return std::make_shared<PretrainingFiles>(paths, settings, options);
    PretrainingSettings of_sequences = settings;
    of_sequences.packed = false;
    auto sequences = std::make_shared<PretrainingFiles>(paths, of_sequences, options);
    auto rows = std::make_shared<PackedSequences>(std::move(sequences), settings, threads);
    log::info(settings.files + ": " + rows->summary());
    return rows;
}

}  // namespace cnntrain::data

#include "cnntrain/data/sets.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/text.h"
#include "data/records/example.h"
#include "data/records/packing.h"
#include "data/records/tfrecord.h"
#include "data/sets/resolve.h"

namespace cnntrain::data {
namespace {

// Sequences of another data set, packed into rows.

// Fields in the order of pretraining_fields().
namespace normal {
enum Field : std::uint8_t { ids, segments, mask, masked_positions, masked_ids, weights, label, count };
}
namespace in_front {  // static
enum Field : std::uint8_t { ids, segments, positions, masked_end, end, masked_ids, weights, label, count };
}

using Fields = std::span<const std::span<std::byte>>;

/// The values up to the last one that is not 0; empty if a 0 lies between others, too.
template <typename T> std::span<const T> leading(std::span<const T> values) {
    const auto end = std::ranges::find(values, T{0});
    const bool only_zeros = std::all_of(end, values.end(), [](T value) { return value == T{0}; });
    return values.first(only_zeros ? static_cast<std::size_t>(end - values.begin()) : 0);
}

SequenceValues normal_values(Fields fields) {
    const std::size_t tokens = leading<std::int32_t>(values_in<std::int32_t>(fields[normal::mask])).size();
    const auto weights = leading<float>(values_in<float>(fields[normal::weights]));
    return {.ids = values_in<std::int32_t>(fields[normal::ids]).first(tokens),
            .segments = values_in<std::int32_t>(fields[normal::segments]).first(tokens),
            .masked_places = values_in<std::int32_t>(fields[normal::masked_positions]).first(weights.size()),
            .masked_ids = values_in<std::int32_t>(fields[normal::masked_ids]).first(weights.size()),
            .weights = weights,
            .next_sentence_label = values_in<std::int32_t>(fields[normal::label])[0]};
}

/// Moves the other tokens up to the masked ones in front. A prediction without a token is left out.
SequenceValues static_values(Fields fields) {
    const auto masked = static_cast<std::size_t>(values_in<std::int32_t>(fields[in_front::masked_end])[0]);
    const auto end = static_cast<std::size_t>(values_in<std::int32_t>(fields[in_front::end])[0]);
    const std::size_t predictions = values_in<std::int32_t>(fields[in_front::masked_ids]).size();
    const std::size_t others = end - std::min(end, predictions);
    const auto tokens = [&](std::size_t field) -> std::span<const std::int32_t> {
        const std::span<std::int32_t> all = values_in<std::int32_t>(fields[field]);
        std::ranges::copy(all.subspan(end - others, others), all.subspan(masked).begin());
        return all.first(others == 0 ? 0 : masked + others);
    };
    const auto weights = leading<float>(values_in<float>(fields[in_front::weights]));
    const std::size_t predicted = std::min(weights.size(), masked);
    return {.ids = tokens(in_front::ids),
            .segments = tokens(in_front::segments),
            .positions = tokens(in_front::positions),
            .masked_places = {},
            .masked_ids = values_in<std::int32_t>(fields[in_front::masked_ids]).first(predicted),
            .weights = weights.first(predicted),
            .first_token = masked,
            .next_sentence_label = values_in<std::int32_t>(fields[in_front::label])[0]};
}

/// Writes a padding sequence, which does not count.
SampleState store_empty_sequence(const PretrainingSettings& settings, SampleView out) {
    for (const std::span<std::byte> field : out)
        std::memset(field.data(), 0, field.size());
    if (settings.packed) return SampleState::padding;
    std::memcpy(out.back().data(), &kNoSentenceLabel, sizeof kNoSentenceLabel);
    // Only the first token is valid, so that attention has at least one position.
    const std::string_view field = settings.static_mask ? kSeqPaddingIndex : kInputMask;
    const auto value = static_cast<std::int32_t>(settings.static_mask ? settings.max_predictions + 1 : 1);
    std::memcpy(out[field_number(pretraining_fields(settings), field)].data(), &value, sizeof value);
    return SampleState::padding;
}

/// A sample is a row. Which sequences share one depends on the data alone.
class PackedSequences final : public Dataset {
public:
    /// `settings`: of the rows. `sequences`: in the normal or static layout, of the same lengths. Reads all of them.
    /// Throws Error(data) if padding lies between tokens or predictions.
    PackedSequences(std::shared_ptr<const Dataset> sequences, const PretrainingSettings& settings, int threads)
        : sequences_(std::move(sequences)), settings_(settings) {
        if (sequences_->size() > std::numeric_limits<std::uint32_t>::max())
            throw Error(ErrorKind::unsupported, "more than 4294967295 sequences cannot be packed into rows");
        for (const Field& field : sequences_->fields())
            bytes_.push_back(field.desc.bytes());
        CNNTRAIN_CHECK(
            bytes_.size() == (settings.static_mask ? std::size_t{in_front::count} : std::size_t{normal::count}),
            "another layout");
        const std::vector<RowShare> all = shares(threads);
        for (const RowShare& share : all)
            tokens_ += share.tokens;
        packing_ = pack(all, room_of_row(settings_));
    }

    std::int64_t size() const override { return packing_.rows(); }
    std::vector<Field> fields() const override { return pretraining_fields(settings_); }

    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override {
        if (index == kPaddingSample) return store_empty_sequence(settings_, out);
        PackedRow row(out);
        for (const std::uint32_t number : packing_.sequences(index))
            row.append(sequence(number, position, workspace));
        return SampleState::counted;
    }

    void will_need(std::int64_t index) const noexcept override {
        for (const std::uint32_t number : packing_.sequences(index))
            sequences_->will_need(number);
    }

    SamplePlace place(std::int64_t index) const override {
        const auto numbers = packing_.sequences(index);
        const std::string others = numbers.size() > 1 ? " and " + std::to_string(numbers.size() - 1) + " more" : "";
        return {sequences_->place(numbers.front()).text + others};
    }

    Origin origin() const override {
        Origin origin = sequences_->origin();
        origin.samples = size();
        return origin;
    }

    DatasetState state() const override {
        return {.memory_bytes = sequences_->state().memory_bytes + packing_.memory_bytes()};
    }

    /// "1000 sequences in 480 rows of 512 tokens, of which 2.1 % are padding"
    std::string summary() const {
        const auto room = static_cast<double>(size() * settings_.sequence_length);
        return std::to_string(sequences_->size()) + " sequences in " + std::to_string(size()) + " rows of " +
               std::to_string(settings_.sequence_length) + " tokens, of which " +
               decimal(100 - 100 * static_cast<double>(tokens_) / room) + " % are padding";
    }

private:
    /// A sequence, whose values are stored in the workspace.
    SequenceValues sequence(std::int64_t number, SamplePosition position, Workspace& workspace) const {
        const HeldSample held(*sequences_, bytes_, number, position, workspace);
        return settings_.static_mask ? static_values(held.fields()) : normal_values(held.fields());
    }

    std::vector<RowShare> shares(int threads) const {
        return shares_of_all(sequences_->size(), threads, [&](std::int64_t number, Workspace& workspace) {
            const SequenceValues read = sequence(number, {}, workspace);
            if (read.ids.empty()) {
                throw Error(ErrorKind::data,
                            sequences_->place(number).text +
                                ": the sequence cannot be packed: it has no tokens, or padding between "
                                "them; leave --packed out");
            }
            return RowShare{std::ssize(read.ids), std::ssize(read.masked_ids), 1};
        });
    }

    std::shared_ptr<const Dataset> sequences_;
    PretrainingSettings settings_;
    std::vector<std::size_t> bytes_;  // of the fields of a sequence
    std::int64_t tokens_ = 0;         // of all sequences
    Packing packing_;
};

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

/// True if the first record holds several sequences.
bool holds_rows(const std::vector<std::string>& paths) {
    const RecordFiles records({paths.front()});
    std::vector<std::byte> buffer;
    const auto found = records.size() > 0 ? settings_of_record(records.read(0, buffer)) : std::nullopt;
    return found && found->packed;
}

class PretrainingFiles final : public Dataset {
public:
    /// Reads the first record of each file. Throws Error(data) like open_pretraining().
    PretrainingFiles(std::vector<std::string> paths, const PretrainingSettings& settings, const RecordOptions& options)
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
            if (first < records_.first_record(file + 1)) PretrainingFiles::read(first, {}, view, workspace);
        }
    }

    std::int64_t size() const override { return records_.size(); }
    std::vector<Field> fields() const override { return pretraining_fields(settings_); }
    SampleState read(std::int64_t index, SamplePosition, SampleView out, Workspace& workspace) const override {
        if (index == kPaddingSample) return store_empty_sequence(settings_, out);
        const auto start = std::chrono::steady_clock::now();
        const std::span<const std::byte> record = records_.read(index, workspace.record);
        const auto parse = std::chrono::steady_clock::now();
        if (const auto fault = parse_pretraining_example(record, keys_, out)) fail(index, record, *fault);
        workspace.seconds.read += std::chrono::duration<double>(parse - start).count();
        workspace.seconds.parse += seconds_since(parse);
        return SampleState::counted;
    }
    void will_need(std::int64_t index) const noexcept override { records_.will_need(index); }
    SamplePlace place(std::int64_t index) const override { return {records_.describe(index)}; }
    Origin origin() const override { return {.samples = size(), .parts = records_.parts()}; }
    DatasetState state() const override { return {.memory_bytes = records_.memory_bytes()}; }

private:
    [[noreturn]] void fail(std::int64_t index, std::span<const std::byte> record, const PretrainingFault& fault) const {
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

    PretrainingSettings settings_;
    std::vector<PretrainingKey> keys_;
    RecordFiles records_;
};

/// The random choices for one sequence.
struct Drawn {
    std::vector<std::int32_t> masked;  // positions of the tokens to predict, ascending; never 0, which is [CLS]
    std::vector<std::int32_t> order;   // positions of the tokens in the order of the layout
    std::int32_t second_part = 0;      // position at which the second part begins
};

Drawn draw(const PretrainingSettings& settings, Rng& rng) {
    Drawn drawn;
    std::vector<std::int32_t> others = {0};
    // Algorithm S of Knuth, volume 2, section 3.4.2.
    for (std::int64_t position = 1; position < settings.sequence_length; ++position) {
        const std::int64_t wanted = settings.max_predictions - std::ssize(drawn.masked);
        const bool chosen = rng.integer(0, settings.sequence_length - position) < wanted;
        (chosen ? drawn.masked : others).push_back(static_cast<std::int32_t>(position));
    }
    drawn.order = drawn.masked;
    drawn.order.insert(drawn.order.end(), others.begin(), others.end());
    if (!settings.static_mask || settings.packed) std::ranges::sort(drawn.order);
    drawn.second_part = static_cast<std::int32_t>(rng.integer(1, settings.sequence_length));
    return drawn;
}

void append_field(const PretrainingKey& key, const PretrainingSettings& settings, const Drawn& drawn, Rng& rng,
                  std::vector<std::int32_t>& values) {
    const auto append = [&](std::int32_t value) {
        values.insert(values.end(), static_cast<std::size_t>(key.length), value);
    };
    const auto append_for_parts = [&](const std::array<std::int32_t, 2>& of_parts) {
        values.insert(values.end(), of_parts.begin(), of_parts.end());
        values.insert(values.end(), static_cast<std::size_t>(key.length) - of_parts.size(), 0);
    };
    constexpr auto kOne = std::bit_cast<std::int32_t>(1.0F);
    if (key.field == kMaskedLmWeights) return append(kOne);
    if (key.field == kNextSentenceWeights) return append_for_parts({kOne, kOne});
    if (key.field == kNextSentencePositions) return append_for_parts({0, drawn.second_part});
    if (key.field == kInputMask) return append(1);
    if (key.field == kMaskPaddingIndex) return append(static_cast<std::int32_t>(settings.max_predictions));
    if (key.field == kSeqPaddingIndex) return append(static_cast<std::int32_t>(settings.sequence_length));
    for (std::size_t i = 0; i < static_cast<std::size_t>(key.length); ++i) {
        const bool in_second_part = drawn.order[i] >= drawn.second_part;
        if (key.field == kInputPosition) {
            values.push_back(drawn.order[i] - (settings.packed && in_second_part ? drawn.second_part : 0));
        } else if (key.field == kSequenceNumbers) {
            values.push_back(in_second_part ? 2 : 1);
        } else if (key.field == kMaskedLmPositions) {
            values.push_back(drawn.masked[i]);
        } else if (key.field == kSegmentIds) {
            values.push_back(in_second_part && settings.type_vocabulary > 1 ? 1 : 0);
        } else {  // tokens and the next-sentence label
            values.push_back(static_cast<std::int32_t>(rng.integer(0, key.most + 1)));
        }
    }
}

/// Number of distinct samples, repeated indefinitely, as in the reference program.
constexpr std::int64_t kGeneratedSequences = 1000;

/// Rows of S random tokens of which M are predicted; all values are valid. In the packed layout, both parts are
/// sequences of their own.
class GeneratedSequences final : public Dataset {
public:
    GeneratedSequences(const PretrainingSettings& settings, std::uint64_t seed) : settings_(settings) {
        const std::vector<PretrainingKey> keys = pretraining_keys(settings);
        values_.resize(keys.size());
        for (std::int64_t index = 0; index < kGeneratedSequences; ++index) {
            Rng rng(seed, RngStream::generated_data, 0, static_cast<std::uint64_t>(index));
            const Drawn drawn = draw(settings, rng);
            for (std::size_t field = 0; field < keys.size(); ++field)
                append_field(keys[field], settings, drawn, rng, values_[field]);
        }
    }

    std::int64_t size() const override { return kGeneratedSequences; }
    Origin origin() const override { return {.samples = size(), .recipe = "generated sequences"}; }
    std::vector<Field> fields() const override { return pretraining_fields(settings_); }
    SampleState read(std::int64_t index, SamplePosition, SampleView out, Workspace&) const override {
        if (index == kPaddingSample) return store_empty_sequence(settings_, out);
        for (std::size_t field = 0; field < out.size(); ++field) {
            const auto values = std::as_bytes(std::span(values_[field]));
            std::memcpy(out[field].data(), values.data() + static_cast<std::size_t>(index) * out[field].size(),
                        out[field].size());
        }
        return SampleState::counted;
    }
    DatasetState state() const override {
        DatasetState state;
        for (const std::vector<std::int32_t>& values : values_)
            state.memory_bytes += values.capacity() * sizeof values[0];
        return state;
    }

private:
    PretrainingSettings settings_;
    std::vector<std::vector<std::int32_t>> values_;  // for each field, the values of all samples
};

}  // namespace

std::vector<Field> pretraining_fields(const PretrainingSettings& settings) {
    std::vector<Field> fields;
    for (const PretrainingKey& key : pretraining_keys(settings)) {
        const DType type = key.type == FeatureType::floats ? DType::f32 : DType::i32;
        fields.push_back({std::string(key.field), {type, {key.length}}});
    }
    return fields;
}

std::shared_ptr<const Dataset> open_pretraining(const PretrainingSettings& settings, std::uint64_t seed, int threads) {
    check_sequences(settings);
    if (settings.generated) return std::make_shared<GeneratedSequences>(settings, seed);
    RecordOptions options;
    options.threads = threads;
    options.index_name = kIndexName;
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

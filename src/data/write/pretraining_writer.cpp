#include "cnntrain/data/writers.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "data/records/example.h"
#include "data/records/packing.h"
#include "data/records/tfrecord.h"
#include "data/sets/resolve.h"
#include "data/text/tokeniser.h"
#include "data/write/pretraining_plan.h"
#include "data/write/shard_writer.h"

namespace cnntrain::data {
namespace {

// Encodes the instances of a plan as records.

/// Settings with which the records are read.
PretrainingSettings layout_of(const PretrainingWriterSettings& settings) {
    return {.static_mask = settings.remask,
            .packed = settings.packed,
            .sequence_length = settings.instances.sequence_length,
            .max_predictions = settings.instances.max_predictions};
}

std::span<const std::uint32_t> one(const std::uint32_t& value) {
    return {&value, 1};
}

/// Token ids and positions are below 2^31.
std::span<const std::int32_t> signed_values(const std::vector<std::uint32_t>& values) {
    return {reinterpret_cast<const std::int32_t*>(values.data()), values.size()};
}

/// Not thread-safe: it reuses its buffers. The constructor's arguments must outlive it.
class PretrainingRecords {
public:
    PretrainingRecords(const Corpus& corpus, const InstancePlan& plan, const Vocabulary& vocabulary,
                       const PretrainingWriterSettings& settings)
        : corpus_(&corpus),
          plan_(&plan),
          vocabulary_(&vocabulary),
          special_(vocabulary.special_tokens()),
          settings_(&settings) {
        if (!settings.packed) return;
        keys_ = pretraining_keys(layout_of(settings));
        for (const PretrainingKey& key : keys_)
            fields_.emplace_back(static_cast<std::size_t>(key.length));
        for (Values& field : fields_)
            field_views_.push_back(std::as_writable_bytes(std::span(field)));
    }

    /// Appends the tf.Example of the instances to `bytes`: several of them in the packed layout only.
    void append(std::span<const std::uint32_t> instances, std::string& bytes) {
        if (settings_->packed) return append_packed(instances, bytes);
        CNNTRAIN_CHECK(instances.size() == 1, "a record of several sequences in another layout");
        gather(plan_->instances[instances.front()]);
        if (settings_->remask) {
            append_static(bytes);
        } else {
            append_plain(bytes);
        }
    }

private:
    using Values = std::vector<std::uint32_t>;

    /// Collects the input tokens of an instance and the masked tokens among them.
    void gather(const Instance& instance) {
        ids_.clear();
        ids_.push_back(special_.beginning);
        append_tokens(instance.first);
        ids_.push_back(special_.separator);
        segments_.assign(ids_.size(), 0);
        append_tokens(instance.second);
        ids_.push_back(special_.separator);
        segments_.resize(ids_.size(), 1);
        positions_.clear();
        labels_.clear();
        for (const MaskedToken& masked : plan_->masks_of(instance)) {
            std::uint32_t& id = ids_[masked.position];
            positions_.push_back(masked.position);
            labels_.push_back(id);
            if (masked.replacement == kUnchanged) continue;
            id = masked.replacement == kMaskToken ? special_.mask : vocabulary_->distinct()[masked.replacement];
        }
        weights_.assign(static_cast<std::size_t>(settings_->instances.max_predictions), 0);
        std::fill_n(weights_.begin(), positions_.size(), 1.0F);
        random_next_ = instance.random_next ? 1 : 0;
    }

    void append_tokens(TokenRange range) {
        std::size_t skipped = range.skipped;
        std::size_t left = range.tokens;
        for (std::size_t number = range.segment; left > 0; ++number) {
            const Corpus::Segment segment = corpus_->segment(number);
            if (skipped >= segment.size()) {
                skipped -= segment.size();
                continue;
            }
            const Corpus::Segment taken = segment.subspan(skipped, std::min(left, segment.size() - skipped));
            ids_.insert(ids_.end(), taken.begin(), taken.end());
            left -= taken.size();
            skipped = 0;
        }
    }

    void append_plain(std::string& bytes) {
        const auto length = static_cast<std::size_t>(settings_->instances.sequence_length);
        const auto predictions = static_cast<std::size_t>(settings_->instances.max_predictions);
        mask_.assign(ids_.size(), 1);
        for (Values* values : {&mask_, &ids_, &segments_})
            values->resize(length, 0);
        for (Values* values : {&positions_, &labels_})
            values->resize(predictions, 0);
        encoder_.add(kInputIds, ids_);
        encoder_.add(kInputMask, mask_);
        encoder_.add(kMaskedLmIds, labels_);
        encoder_.add(kMaskedLmPositions, positions_);
        encoder_.add(kMaskedLmWeights, weights_);
        encoder_.add(kNextSentenceLabels, one(random_next_));
        encoder_.add(kSegmentIds, segments_);
        encoder_.finish(bytes);
    }

    /// Masked tokens get positions from 0 on, other tokens from M on. Tokens with id 0 count as padding and are
    /// dropped, even if one of them replaces a masked token.
    void append_static(std::string& bytes) {
        const auto length = static_cast<std::size_t>(settings_->instances.sequence_length);
        const auto predictions = static_cast<std::size_t>(settings_->instances.max_predictions);
        padded_ids_.assign(length, 0);
        padded_segments_.assign(length, 0);
        padded_positions_.assign(length, static_cast<std::uint32_t>(settings_->pad_position));
        padded_labels_.assign(predictions, 0);
        std::uint32_t front = 0;
        auto back = static_cast<std::uint32_t>(predictions);
        std::size_t next_masked = 0;
        for (std::uint32_t position = 0; position < ids_.size(); ++position) {
            const bool masked = next_masked < positions_.size() && positions_[next_masked] == position;
            if (masked) ++next_masked;
            if (ids_[position] == 0) continue;
            if (masked) padded_labels_[front] = labels_[next_masked - 1];
            const std::uint32_t place = masked ? front++ : back++;
            padded_ids_[place] = ids_[position];
            padded_segments_[place] = segments_[position];
            padded_positions_[place] = position;
        }
        encoder_.add(kInputIds, padded_ids_);
        encoder_.add(kInputPosition, padded_positions_);
        encoder_.add(kMaskPaddingIndex, one(front));
        encoder_.add(kMaskedLabels, padded_labels_);
        labels_.resize(predictions, 0);
        encoder_.add(kMaskedLmIds, labels_);
        encoder_.add(kMaskedLmPositions, positions_);
        encoder_.add(kMaskedLmWeights, weights_);
        encoder_.add(kNextSentenceLabels, one(random_next_));
        encoder_.add(kSegmentIds, padded_segments_);
        encoder_.add(kSeqPaddingIndex, one(back));
        encoder_.finish(bytes);
    }

    void append_packed(std::span<const std::uint32_t> instances, std::string& bytes) {
        PackedRow row(field_views_);
        for (const std::uint32_t number : instances) {
            gather(plan_->instances[number]);
            row.append({.ids = signed_values(ids_),
                        .segments = signed_values(segments_),
                        .masked_places = signed_values(positions_),
                        .masked_ids = signed_values(labels_),
                        .weights = std::span(weights_).first(labels_.size()),
                        .next_sentence_label = static_cast<std::int32_t>(random_next_)});
        }
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (keys_[i].type == FeatureType::floats) {
                const auto* const values = reinterpret_cast<const float*>(fields_[i].data());
                encoder_.add(keys_[i].key, std::span(values, fields_[i].size()));
            } else {
                encoder_.add(keys_[i].key, fields_[i]);
            }
        }
        encoder_.finish(bytes);
    }

    const Corpus* corpus_;
    const InstancePlan* plan_;
    const Vocabulary* vocabulary_;
    SpecialTokens special_;
    const PretrainingWriterSettings* settings_;
    ExampleEncoder encoder_;

    // Values of the current instance, without padding.
    Values ids_;
    Values segments_;
    Values positions_;  // of the masked tokens
    Values labels_;     // ids of the masked tokens
    std::uint32_t random_next_ = 0;
    std::vector<float> weights_;  // [M]

    // Values of the current record, with padding.
    Values padded_ids_;
    Values padded_segments_;
    Values padded_positions_;  // of the tokens
    Values padded_labels_;
    Values mask_;

    // Fields of the current record in the packed layout.
    std::vector<PretrainingKey> keys_;
    std::vector<Values> fields_;
    std::vector<std::span<std::byte>> field_views_;  // views of fields_
};

namespace fs = std::filesystem;

/// Part of the fingerprint; increase it when equal text gives different bytes.
constexpr const char* kPretrainingFormat = "1";
constexpr std::size_t kRecordsInBlock = 256;
constexpr std::size_t kRecordBlocksAhead = 4;  // per thread

// Counts of a finished file that the journal stores.
constexpr const char* kSequences = "sequences";
constexpr const char* kTokens = "tokens";
constexpr const char* kRandomNext = "random next";
constexpr const char* kMasked = "masked tokens";

/// The instances of each record.
class RecordPlan {
public:
    RecordPlan(const InstancePlan& plan, const PretrainingWriterSettings& settings)
        : plan_(plan), packed_(settings.packed) {
        if (!packed_) return;
        std::vector<RowShare> shares;
        for (const std::uint32_t number : plan.order)
            shares.push_back({plan.instances[number].tokens(), plan.instances[number].masks, 1});
        const Packing packing = pack(shares, room_of_row(layout_of(settings)));
        for (std::int64_t row = 0; row < packing.rows(); ++row) {
            std::vector<std::uint32_t> instances;
            for (const std::uint32_t place : packing.sequences(row))
                instances.push_back(plan.order[place]);
            rows_.add_row(instances);
        }
    }

    std::size_t records() const { return packed_ ? static_cast<std::size_t>(rows_.rows()) : plan_.order.size(); }
    std::span<const std::uint32_t> numbers(std::size_t record) const {
        return packed_ ? rows_.sequences(static_cast<std::int64_t>(record)) : std::span(plan_.order).subspan(record, 1);
    }
    const Instance& instance(std::uint32_t number) const { return plan_.instances[number]; }

private:
    const InstancePlan& plan_;
    bool packed_;
    Packing rows_;
};

void check_pretraining(const PretrainingWriterSettings& settings, const std::vector<std::string>& outputs) {
    const auto refuse = [](const std::string& what) { throw Error(ErrorKind::usage, what); };
    if (outputs.empty()) refuse("no output file is given");
    if (settings.pad_position < 0 || settings.pad_position > std::numeric_limits<std::int32_t>::max()) {
        refuse("the position of padding is " + std::to_string(settings.pad_position) + ", not in 0..2147483647");
    }
    if (settings.packed && settings.remask)
        refuse("--packed and --remask are layouts of records of their own; choose one");
    check_instances(settings.instances);
}

class PretrainingConversion {
public:
    PretrainingConversion(const PretrainingWriterSettings& settings, const PretrainingWriterEvents& events)
        : settings_(settings),
          events_(events),
          threads_(std::clamp(settings.threads, 1, tbb::info::default_concurrency())),
          outputs_(split_list(settings.output_files)) {
        check_pretraining(settings, outputs_);
        inputs_ = matching_files(settings.input_files);
        vocabulary_text_ = read_text(files_, settings.vocabulary);
        check_places();
    }

    PretrainingWriterResult run() {
        for (const std::string& file : outputs_) {
            const fs::path folder = fs::path(file).parent_path();
            if (!folder.empty()) files_.make_directories(folder.string());
        }
        lock_ = lock_file(files_, outputs_.front(), "cnntrain dataset bert");
        keep_finished();
        try {
            if (finished_.size() < outputs_.size()) make_records();
        } catch (const Interrupted&) {
            result_.interrupted = true;
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::storage) fail_storing(error, finished_.size(), outputs_.size());
            throw;
        }
        sum_up();
        return result_;
    }

private:
    struct Block {
        std::string bytes;
        std::int64_t records = 0;
        std::int64_t sequences = 0;
        std::int64_t tokens = 0;
        std::int64_t random_next = 0;
        std::int64_t masked = 0;
    };

    std::string journal() const { return outputs_.front() + ".conversion.jsonl"; }

    /// Checks the paths. The journal decides which existing files may be replaced, in keep_finished().
    void check_places() const {
        std::vector<NamedPath> inputs = {{"--vocab-file", settings_.vocabulary}};
        for (const std::string& path : inputs_)
            inputs.push_back({"--input-file", path});
        std::vector<Output> outputs;
        for (const std::string& path : outputs_)
            outputs.push_back({{"--output-file", path}, true});
        outputs.push_back({{"the journal", journal()}, settings_.overwrite, "--overwrite", is_journal});
        check_outputs(files_, outputs, inputs);
    }

    Fingerprint fingerprint() const {
        Digest inputs;
        for (const std::string& path : inputs_) {
            const std::unique_ptr<InputFile> file = files_.open(path);
            inputs.add(path);
            inputs.add(file->size_bytes());
            inputs.add(static_cast<std::uint64_t>(file->modified_ns()));
        }
        Digest outputs;
        for (const std::string& path : outputs_)
            outputs.add(path);
        Digest vocabulary;
        vocabulary.add(vocabulary_text_);
        const auto number = [](auto value) {
            std::array<char, 32> digits{};
            return std::string(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
        };
        const InstanceSettings& how = settings_.instances;
        Fingerprint result = {{"record format", kPretrainingFormat},
                              {"Unicode version", unicode_version()},
                              {"input files", number(inputs_.size()) + " (" + inputs.text() + ")"},
                              {"output files", number(outputs_.size()) + " (" + outputs.text() + ")"},
                              {"vocabulary", vocabulary.text()},
                              {"lower case", settings_.lower_case ? "yes" : "no"},
                              {"sequence length", number(how.sequence_length)},
                              {"masked tokens", number(how.max_predictions)},
                              {"seed", number(how.seed)},
                              {"duplication factor", number(how.duplication_factor)},
                              {"share of masked tokens", number(how.masked_share)},
                              {"probability of short sequences", number(how.short_sequence_probability)},
                              {"masked tokens in front", settings_.remask ? "yes" : "no"},
                              {"position of padding", number(settings_.pad_position)}};
        if (settings_.packed) result.emplace_back("several sequences in a record", "yes");
        return result;
    }

    /// Keeps the finished files of an earlier job with the same fingerprint. Those that its journal does not list are
    /// made anew: it ended before it could add them.
    void keep_finished() {
        const std::optional<Journal> found = read_journal(files_, journal());
        fingerprint_ = fingerprint();
        const bool same = found && found->fingerprint == fingerprint_;
        for (const std::string& file : outputs_) {
            if (!exists(files_, file)) continue;
            if (same) {
                const auto entry = found->finished.find(file);
                if (entry == found->finished.end()) continue;
                if (files_.open(file)->size_bytes() == entry->second.bytes) {
                    finished_.insert(*entry);
                    kept_records_ += entry->second.records;
                    continue;
                }
            }
            if (!settings_.overwrite) refuse_old(file, found);
        }
        result_.files_kept = std::ssize(finished_);
        done_records_ = kept_records_;
    }

    /// Begins the journal before the first file of this job is in its place, so that a killed job knows its files
    /// again. A job that finishes no file leaves the journal as it was.
    void begin_journal() {
        if (std::exchange(writes_journal_, true)) return;
        std::vector<FinishedFile> entries;
        for (const auto& [name, entry] : finished_)
            entries.push_back(entry);
        write_journal(files_, journal(), fingerprint_, entries);
    }

    [[noreturn]] void refuse_old(const std::string& file, const std::optional<Journal>& found) const {
        if (!found) refuse(file, "there is no " + journal());
        if (found->fingerprint != fingerprint_) refuse(file, differences(fingerprint_, found->fingerprint));
        refuse(file, "its size is not that in " + journal());
    }

    [[noreturn]] void refuse(const std::string& file, const std::string& why) const {
        throw Error(ErrorKind::usage, "output file " + file + " is there already, and of another conversion (" + why +
                                          "); choose another name, or give --overwrite to replace it");
    }

    bool stop_requested() const { return events_.stop_requested && events_.stop_requested(); }
    void tell(PretrainingStage stage, std::int64_t done, std::int64_t kept, std::int64_t total) const {
        if (events_.progress) events_.progress({stage, done, kept, total});
    }

    void make_records() {
        const Vocabulary vocabulary = Vocabulary::read(files_, settings_.vocabulary);
        CorpusSettings reading{inputs_, settings_.lower_case, threads_, events_.stop_requested, {}};
        reading.progress = [&](std::uint64_t done, std::uint64_t total) {
            tell(PretrainingStage::tokenise, static_cast<std::int64_t>(done), 0, static_cast<std::int64_t>(total));
        };
        const Corpus corpus = read_corpus(files_, vocabulary, reading);
        if (corpus.documents() == 0) {
            throw Error(ErrorKind::data,
                        "there is no text in " + settings_.input_files +
                            ": one sentence in each line is expected, and blank lines between documents");
        }
        result_.input_files = std::ssize(inputs_);
        result_.documents = static_cast<std::int64_t>(corpus.documents());
        result_.sentences = static_cast<std::int64_t>(corpus.segments());
        result_.tokens = static_cast<std::int64_t>(corpus.tokens());
        result_.unknown_tokens = static_cast<std::int64_t>(corpus.count(vocabulary.special_tokens().unknown));
        const PlanEvents planning{events_.stop_requested, [&](std::int64_t done, std::int64_t total) {
                                      tell(PretrainingStage::plan, done, 0, total);
                                  }};
        const InstancePlan plan = plan_instances(corpus, static_cast<std::uint32_t>(vocabulary.distinct().size()),
                                                 settings_.instances, planning);
        const RecordPlan record_plan(plan, settings_);
        tbb::enumerable_thread_specific<PretrainingRecords> records(corpus, plan, vocabulary, settings_);
        tbb::task_arena arena(threads_);
        for (std::size_t file = 0; file < outputs_.size(); ++file) {
            if (finished_.contains(outputs_[file])) continue;
            arena.execute([&] { write_file(file, record_plan, records); });
        }
    }

    void write_file(std::size_t file, const RecordPlan& plan,
                    tbb::enumerable_thread_specific<PretrainingRecords>& records) {
        const std::unique_ptr<OutputFile> output = files_.create(outputs_[file]);
        FinishedFile entry{outputs_[file]};
        FileContent content;
        const std::size_t step = outputs_.size() * kRecordsInBlock;
        std::size_t next = file;  // record
        const auto begin = [&](tbb::flow_control& flow) -> std::size_t {
            if (stop_requested()) throw Interrupted();
            if (next >= plan.records()) flow.stop();
            return std::exchange(next, next + step);
        };
        const auto make = [&](std::size_t first_record) { return make_block(plan, first_record, records.local()); };
        const auto write = [&](const Block& block) {
            output->write(std::as_bytes(std::span(block.bytes)));
            content.add(std::as_bytes(std::span(block.bytes)));
            entry.records += block.records;
            if (settings_.packed) {
                entry.notes[kSequences] += block.sequences;
                entry.notes[kTokens] += block.tokens;
            }
            entry.notes[kRandomNext] += block.random_next;
            entry.notes[kMasked] += block.masked;
            done_records_ += block.records;
            tell(PretrainingStage::write, done_records_, kept_records_, static_cast<std::int64_t>(plan.records()));
        };
        tbb::parallel_pipeline(kRecordBlocksAhead * static_cast<std::size_t>(threads_),
                               tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, begin) &
                                   tbb::make_filter<std::size_t, Block>(tbb::filter_mode::parallel, make) &
                                   tbb::make_filter<Block, void>(tbb::filter_mode::serial_in_order, write));
        // A job that was killed before it could list the file has left the same bytes.
        const bool changed = exists(files_, outputs_[file]) && !holds(files_, outputs_[file], content);
        if (changed && !settings_.overwrite) refuse(outputs_[file], "its bytes are not those of this conversion");
        entry.bytes = content.bytes;
        begin_journal();
        output->commit();
        append_to_journal(files_, journal(), entry);
        finished_.emplace(entry.name, entry);
    }

    Block make_block(const RecordPlan& plan, std::size_t first_record, PretrainingRecords& records) const {
        Block block;
        std::string record;
        const std::size_t step = outputs_.size();
        const std::size_t end = std::min(plan.records(), first_record + step * kRecordsInBlock);
        for (std::size_t k = first_record; k < end; k += step) {
            record.clear();
            records.append(plan.numbers(k), record);
            append_record(std::as_bytes(std::span(record)), block.bytes);
            ++block.records;
            for (const std::uint32_t number : plan.numbers(k)) {
                const Instance& instance = plan.instance(number);
                ++block.sequences;
                block.tokens += instance.tokens();
                block.random_next += instance.random_next ? 1 : 0;
                block.masked += instance.masks;
            }
        }
        return block;
    }

    void sum_up() {
        for (const auto& [name, file] : finished_) {
            result_.records += file.records;
            result_.sequences += settings_.packed ? count_of(file.notes, kSequences) : file.records;
            result_.sequence_tokens += count_of(file.notes, kTokens);
            result_.bytes += file.bytes;
            result_.random_next += count_of(file.notes, kRandomNext);
            result_.masked_tokens += count_of(file.notes, kMasked);
        }
        result_.files_written = std::ssize(finished_) - result_.files_kept;
    }

    const PretrainingWriterSettings& settings_;
    const PretrainingWriterEvents& events_;
    FileSystem& files_ = posix_files();
    int threads_;
    std::vector<std::string> inputs_;
    std::vector<std::string> outputs_;
    std::string vocabulary_text_;
    std::unique_ptr<FileLock> lock_;
    Fingerprint fingerprint_;                       // of the start
    std::map<std::string, FinishedFile> finished_;  // by output
    bool writes_journal_ = false;                   // this job has begun its journal
    std::int64_t done_records_ = 0;                 // including records of kept files
    std::int64_t kept_records_ = 0;
    PretrainingWriterResult result_;
};

}  // namespace

PretrainingWriterResult write_pretraining_records(const PretrainingWriterSettings& settings,
                                                  const PretrainingWriterEvents& events) {
    return PretrainingConversion(settings, events).run();
}

}  // namespace cnntrain::data

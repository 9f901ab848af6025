// Converts text to the TFRecord files of BERT pretraining. Used by `cnntrain dataset bert`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace cnntrain::data {

/// Settings for cutting sequences from documents and masking them.
struct InstanceSettings {
    std::int64_t sequence_length = 128;  // S, including [CLS] and both [SEP]
    std::int64_t max_predictions = 20;   // M: maximum number of masked tokens per sequence
    std::int64_t seed = 1984;
    std::int64_t duplication_factor = 6;      // sweeps over the documents, each with new cuts and masks
    double masked_share = 0.15;               // share of a sequence's tokens, 0..1
    double short_sequence_probability = 0.1;  // probability that a document is cut to a random length below S
};

struct PretrainingWriterSettings {
    std::string input_files;   // patterns of text files, separated by commas, as in pretraining_files()
    std::string output_files;  // names, separated by commas; record k goes to file k mod n
    std::string vocabulary;    // one WordPiece piece per line
    bool lower_case = false;   // also strips accents; for uncased vocabularies
    InstanceSettings instances = {};
    bool remask = false;              // static layout: masked tokens first
    std::int64_t pad_position = 384;  // position of padding in that layout
    bool packed = false;              // packed layout: a record has as many sequences as fit into S tokens
    int threads = 1;
    bool overwrite = false;  // replace output files of another conversion instead of refusing
};

enum class PretrainingStage { tokenise, plan, write };
struct PretrainingProgress {
    PretrainingStage stage = PretrainingStage::tokenise;
    std::int64_t done = 0;   // bytes of text, documents over all sweeps, or records
    std::int64_t kept = 0;   // of these, done by an earlier run
    std::int64_t total = 0;  // same unit
};

/// Callbacks; each may be empty. They may be called from any thread, but not concurrently.
struct PretrainingWriterEvents {
    std::function<void(const PretrainingProgress&)> progress;
    std::function<bool()> stop_requested;
};

struct PretrainingWriterResult {
    bool interrupted = false;  // stopped by stop_requested; then the other members count finished files only
    // Counts of the text; zeros if all files existed already.
    std::int64_t input_files = 0;
    std::int64_t documents = 0;
    std::int64_t sentences = 0;
    std::int64_t tokens = 0;
    std::int64_t unknown_tokens = 0;  // number of [UNK] tokens

    std::int64_t records = 0;
    std::int64_t sequences = 0;        // in all records
    std::int64_t sequence_tokens = 0;  // of all sequences, without padding; counted in the packed layout only
    std::int64_t random_next = 0;      // sequences with label 1
    std::int64_t masked_tokens = 0;    // in all records
    std::int64_t files_written = 0;
    std::int64_t files_kept = 0;  // finished by an earlier run
    std::uint64_t bytes = 0;
};

/// The text has one sentence per line and blank lines between documents. The records equal those of the reference
/// program with the same seed; in the packed layout, the sequences do. A file is either complete or absent;
/// `<first output file>.conversion.jsonl` lists the finished files. A stopped job continues with the others and gives
/// the same bytes. All tokens of the text and a plan of all records are held in memory (4 bytes per token, 40 per
/// record and 8 per masked token).
///
/// Throws Error(usage) for impossible settings and for output files of another conversion, Error(data) for missing
/// files and for a text without tokens, Error(storage) if a file cannot be written (finished files stay).
PretrainingWriterResult write_pretraining_records(const PretrainingWriterSettings& settings,
                                                  const PretrainingWriterEvents& events = {});

}  // namespace cnntrain::data

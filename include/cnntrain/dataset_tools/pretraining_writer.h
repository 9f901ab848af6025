// Text to the TFRecord files of BERT pretraining. Behind `cnntrain dataset bert`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cnntrain::dataset_tools {

/// How sequences are cut from documents and what is masked in them.
struct InstanceSettings {
    std::int64_t sequence_length = 128;  // S, [CLS] and both [SEP] included
    std::int64_t max_predictions = 20;   // M: masked tokens of a sequence at most
    std::int64_t seed = 1984;
    std::int64_t duplication_factor = 6;      // passes over the documents, each cut and masked anew
    double masked_share = 0.15;               // of a sequence's tokens, 0..1
    double short_sequence_probability = 0.1;  // of a document that is cut to a random length below S
};

struct PretrainingWriterSettings {
    std::string input_files;   // patterns of text files, separated by commas; as pretraining_files() reads them
    std::string output_files;  // names, separated by commas; record k goes to file k mod n
    std::string vocabulary;    // a WordPiece piece in each line
    bool lower_case = false;   // and strip accents: for uncased vocabularies
    InstanceSettings instances = {};
    bool remask = false;              // the static layout: masked tokens in front
    std::int64_t pad_position = 384;  // of the padding in that layout
    int threads = 1;
    bool overwrite = false;  // replace output files of another conversion instead of refusing
};

enum class PretrainingStage { tokenise, plan, write };
struct PretrainingProgress {
    PretrainingStage stage = PretrainingStage::tokenise;
    std::int64_t done = 0;   // bytes of text, documents of all passes, or records
    std::int64_t kept = 0;   // of these, done by an earlier run
    std::int64_t total = 0;  // likewise
};

/// What the caller wants to hear on the way; each may be empty. Called from any thread, one call at a time.
struct PretrainingWriterEvents {
    std::function<void(const PretrainingProgress&)> progress;
    std::function<bool()> stop_requested;
};

struct PretrainingWriterResult {
    bool interrupted = false;  // by stop_requested; the other numbers are those of the finished files
    // Of the text; zeros when all files were there already.
    std::int64_t input_files = 0;
    std::int64_t documents = 0;
    std::int64_t sentences = 0;
    std::int64_t tokens = 0;
    std::int64_t unknown_tokens = 0;  // [UNK]

    std::int64_t records = 0;
    std::int64_t random_next = 0;    // of these, with label 1
    std::int64_t masked_tokens = 0;  // of all records
    std::int64_t files_written = 0;
    std::int64_t files_kept = 0;  // finished by an earlier run
    std::uint64_t bytes = 0;
};

/// One sentence in each line, blank lines between documents. The records are those of the reference program with the
/// same seed. A file is finished or absent; `<first output file>.conversion.jsonl` lists the finished ones: a job that
/// was stopped goes on with the others, and gives the same bytes. All tokens of the text and a plan of all records are
/// held in memory (4 bytes for each token, 40 for each record and 8 for each masked token).
///
/// Error(usage) for settings that cannot be and for output files of another conversion, Error(data) for files that are
/// missing and for a text without tokens, Error(storage) when a file cannot be written (finished ones stay).
PretrainingWriterResult write_pretraining_records(const PretrainingWriterSettings& settings,
                                                  const PretrainingWriterEvents& events = {});

}  // namespace cnntrain::dataset_tools

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/foreign.h"
#include "cnntrain/weights/hugging_face.h"

namespace cnntrain::cli {
namespace {

// Writes the files that transformers reads in addition to model.safetensors.

class HuggingFaceFolder {
public:
    /// `folder`: empty or with a slash at its end. `overwrite`: files with other contents may be replaced.
    HuggingFaceFolder(std::string folder, bool overwrite) : folder_(std::move(folder)), overwrite_(overwrite) {}

    void add(const std::string& name, std::string text) { texts_.insert_or_assign(name, std::move(text)); }
    /// Adds vocab.txt: the first `rows` lines of `file`. A file that the user has not `given` must be the one whose
    /// checksum the checkpoint records; without it, a note says so. Error(data) if the checkpoint records another one,
    /// or the given one is not readable.
    void add_vocabulary(const std::string& file, bool given, std::int64_t rows, const std::string& checkpoint);

    /// Adds tokenizer_config.json.
    void add_tokeniser(bool lower_case, bool splits_special_tokens);

    /// Throws Error(usage) like check_outputs(); `source`: the checkpoint that is read. A file that has its content
    /// already is neither checked nor written.
    void check(const std::string& source) const;
    /// Paths of the files that write() makes.
    std::vector<std::string> paths() const;
    void write(FileSystem& files) const;

    /// Messages for the user.
    const std::vector<std::string>& notes() const { return notes_; }

private:
    bool is_there(const FileSystem& files, const std::string& name, const std::string& text) const;

    std::string folder_;
    bool overwrite_;
    std::string vocabulary_;                    // that was read
    std::map<std::string, std::string> texts_;  // by name
    std::vector<std::string> notes_;
};

void HuggingFaceFolder::add_vocabulary(const std::string& file, bool given, std::int64_t rows,
                                       const std::string& checkpoint) {
    const bool is_there = !file.empty() && (given || exists(posix_files(), file));
    // A run's folder may come from somebody else: a file that only its arguments.json names is not copied.
    const bool is_of_run = is_there && run::is_vocabulary_of(posix_files(), checkpoint, file);
    if (!is_of_run && !given) {
        notes_.emplace_back("No vocab.txt was written: the vocabulary is not known; --vocab-file FILE copies it");
        return;
    }
    vocabulary_ = file;
    std::string text = data::vocabulary_lines(posix_files(), file);
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    const std::int64_t words = std::ranges::count(text, '\n');
    if (words > rows) {
        std::size_t end = 0;
        for (std::int64_t i = 0; i < rows; ++i)
            end = text.find('\n', end) + 1;
        text.resize(end);
        notes_.push_back("vocab.txt has the first " + std::to_string(rows) + " of " + std::to_string(words) +
                         " words, as many as the table of words has rows");
    }
    add("vocab.txt", std::move(text));
}

void HuggingFaceFolder::add_tokeniser(bool lower_case, bool splits_special_tokens) {
    add("tokenizer_config.json", std::string("{\n  \"do_lower_case\": ") + (lower_case ? "true" : "false") +
                                     (splits_special_tokens ? ",\n  \"split_special_tokens\": true" : "") +
                                     ",\n  \"tokenizer_class\": \"BertTokenizer\"\n}\n");
}

bool HuggingFaceFolder::is_there(const FileSystem& files, const std::string& name, const std::string& text) const {
    const std::string path = folder_ + name;
    return files.kind(path) == FileKind::file && read_text(files, path) == text;
}

void HuggingFaceFolder::check(const std::string& source) const {
    std::vector<Output> outputs;
    for (const auto& [name, text] : texts_) {
        if (!is_there(posix_files(), name, text))
            outputs.push_back({{"--to:", folder_ + name}, overwrite_, "--overwrite"});
    }
    std::vector<NamedPath> inputs = {{"--from", source}};
    if (!vocabulary_.empty()) inputs.push_back({"--vocab-file", vocabulary_});
    check_outputs(posix_files(), outputs, inputs);
}

std::vector<std::string> HuggingFaceFolder::paths() const {
    std::vector<std::string> paths;
    for (const auto& [name, text] : texts_)
        if (!is_there(posix_files(), name, text)) paths.push_back(folder_ + name);
    return paths;
}

void HuggingFaceFolder::write(FileSystem& files) const {
    for (const auto& [name, text] : texts_)
        if (!is_there(files, name, text)) write_text(files, folder_ + name, text);
}

/// The file that `--to` names; for a folder, its model.safetensors.
std::string target_file(const std::string& to) {
    if (!to.ends_with('/') && !is_directory(posix_files(), to)) return to;
    return to + (to.ends_with('/') ? "" : "/") + "model.safetensors";
}

// `cnntrain convert`: converts BERT checkpoints from and to Hugging Face's layout, and other programs' files of weights
// to safetensors.

using weights::BertArguments;
using weights::BertConfig;
using weights::Checkpoint;
using weights::Converted;
using weights::Found;
using weights::kTrustFlag;

/// First arguments of the original script: conversions between names of BERT's variables in TensorFlow checkpoints.
constexpr std::array<std::string_view, 4> kScriptActions = {"graphcore2google", "google2graphcore", "research2apps",
                                                            "apps2research"};

void refuse_script_actions(const std::vector<std::string>& arguments) {
    for (const std::string& word : arguments) {
        if (std::ranges::find(kScriptActions, word) == kScriptActions.end()) continue;
        throw Error(ErrorKind::unsupported,
                    word +
                        " renames BERT's variables within TensorFlow's checkpoints, which this program does not do. "
                        "cnntrain convert RUN --to tf writes one with the names of the original programs, --to hf a "
                        "folder for transformers. To read Google's, save them with transformers (save_pretrained), "
                        "then: cnntrain convert --from model.safetensors --to FILE");
    }
}

constexpr std::string_view kMore =
    "\nWrites a trained network for other programs, after it was compared with the network:\n"
    "  cnntrain convert RUN --to onnx\n"
    "cnntrain help exports says what each format holds.\n"
    "\nWith --from, converts BERT checkpoints from and to the layout of Hugging Face's transformers:\n"
    "  cnntrain convert --from bert-base-uncased/model.safetensors --to base.safetensors\n"
    "  cnntrain convert --from RUN/ckpt-7031 --to exported/\n"
    "config.json is read next to a file of transformers, and written with vocab.txt; activation and epsilon come from\n"
    "the run's arguments.json. Weights keep their bits; biases of keys and others that a network lacks become zeros.\n"
    "Other files of PyTorch (.pth, .pt, .bin), Keras (.h5, .keras) and TensorFlow (PREFIX.index) become safetensors\n"
    "with their own names; cnntrain analyse --list prints what is in them:\n"
    "  cnntrain convert --from resnet18.pth --to resnet18.safetensors\n";

void refuse_options(const Flags& flags, std::initializer_list<std::string_view> names, const std::string& why) {
    for (const std::string_view name : names) {
        const bool fallback = name == "--vocab-size" && flags.integer(name, 0) == 0;
        if (flags.given(name) && !fallback) throw Error(ErrorKind::usage, std::string(name) + " " + why);
    }
}

std::optional<BertConfig> config_of(const Checkpoint& source, const std::string& path) {
    const auto found = source.metadata.find(weights::kConfigKey);
    if (found == source.metadata.end()) return std::nullopt;
    return weights::parse_bert_config(found->second, path + ": " + found->first);
}

void check_heads(const BertConfig& config, const Converted& result, const std::string& path) {
    if (config.heads == 0 || result.sizes.hidden % config.heads == 0) return;
    throw Error(ErrorKind::data, path + ": the width " + std::to_string(result.sizes.hidden) + " is no multiple of " +
                                     std::to_string(config.heads) + " attention heads");
}

/// The number of attention heads. It does not follow from the variables; if unknown, heads are 64 wide, as usual.
std::int64_t heads_of(const BertConfig& config, const Converted& result) {
    constexpr std::int64_t kUsualWidth = 64;
    return config.heads > 0 ? config.heads : std::max<std::int64_t>(1, result.sizes.hidden / kUsualWidth);
}

void set_sizes(BertConfig& config, const weights::BertSizes& sizes) {
    config.sizes = sizes;
    if (std::ssize(config.class_names) != sizes.classes) config.class_names.clear();
}

// ---- from transformers ----

Converted imported(const Flags& flags, Checkpoint source, const std::string& path) {
    refuse_options(flags, {"--hidden-act", "--layer-norm-epsilon", "--vocab-file"},
                   "is for checkpoints of this program, and " + path + " is one of transformers");
    std::optional<BertConfig> config = config_of(source, path);
    weights::ImportSettings settings{.vocabulary = flags.integer("--vocab-size", 0)};
    if (config) {
        settings.variables = config->variables;
        settings.sizes = config->sizes;
        settings.classifier = config->classifies_texts();
    }
    if (flags.given("--joined-qkv")) settings.variables.qkv_split = false;
    Converted result = weights::from_hugging_face(std::move(source), settings, path);
    if (!config) return result;
    check_heads(*config, result, path);
    set_sizes(*config, result.sizes);
    if (settings.vocabulary > 0) config->sizes.vocabulary = settings.vocabulary;
    weights::set_class_names(result.checkpoint.metadata, config->class_names);
    result.checkpoint.metadata[weights::kConfigKey] = to_json(*config);
    return result;
}

/// The command-line options of this network.
std::string network_options(const Converted& result, const std::optional<BertConfig>& config) {
    const weights::BertSizes& sizes = result.sizes;
    const weights::BertVariables& has = result.variables;
    std::string text;
    const auto add = [&](const char* flag, std::int64_t value) {
        text += (text.empty() ? "" : " ") + std::string(flag) + " " + std::to_string(value);
    };
    const std::map<std::string, HostTensor>& tensors = result.checkpoint.tensors;
    add("--vocab-size", tensors.at("bert/embeddings/word_embeddings").shape()[0]);
    add("--hidden-size", sizes.hidden);
    add("--num-attention-heads", heads_of(config.value_or(BertConfig{}), result));
    add("--num-hidden-layers", sizes.layers);
    add("--intermediate-size", sizes.intermediate);
    add("--max-position-embeddings", sizes.positions);
    if (sizes.segment_types != 2) add("--type-vocab-size", sizes.segment_types);
    if (config) {
        text += std::string(" --hidden-act ") + (config->exact_gelu ? "gelu_erf" : "gelu");
        text += " --layer-norm-epsilon " + run::text(config->norm_epsilon);
    }
    if (has.qkv_split) text += " --use-qkv-split";
    if (has.qkv_bias) text += " --use-qkv-bias";
    if (!has.projection_bias) text += " --use-attention-projection-bias false";
    if (!has.prediction_bias) text += " --use-prediction-bias false";
    if (!tensors.contains("cls/predictions/transform/dense/kernel")) text += " --use-cls-layer false";
    return text;
}

// ---- to transformers ----

/// The arguments of the run that wrote the checkpoint, from its folder or the one above (RUN/ckpt/mean).
std::optional<BertArguments> arguments_of_run(const std::string& path) {
    const std::string folder = folder_part(path);
    for (const std::string& place : {folder, folder + "../"}) {
        const std::string file = place + "arguments.json";
        if (exists(posix_files(), file)) return weights::parse_bert_arguments(read_text(posix_files(), file), file);
    }
    return std::nullopt;
}

/// Activation and epsilon, from the command line, the run, or the config.json of an earlier import.
BertArguments arguments_of(const Flags& flags, const Checkpoint& source, const std::string& path) {
    BertArguments result;
    const std::optional<BertArguments> run = arguments_of_run(path);
    const std::optional<BertConfig> config = config_of(source, path);
    if (run) {
        result = *run;
    } else if (config) {
        result.config = *config;
    } else if (!flags.given("--hidden-act") || !flags.given("--layer-norm-epsilon")) {
        weights::to_hugging_face(source, {}, path);  // says so if this is no BERT at all
        throw Error(ErrorKind::usage,
                    path +
                        ": no arguments.json of its run is there, so that its activation and the epsilon of its "
                        "norms are not known; give --hidden-act and --layer-norm-epsilon");
    }
    if (flags.given("--hidden-act")) {
        const std::string& activation = flags.text("--hidden-act");
        if (activation != "gelu" && activation != "gelu_erf")
            throw Error(ErrorKind::usage, "--hidden-act must be gelu or gelu_erf, not '" + activation + "'");
        result.config.exact_gelu = activation == "gelu_erf";
        result.transform = true;
    }
    if (flags.given("--layer-norm-epsilon")) result.config.norm_epsilon = flags.number("--layer-norm-epsilon", 0, 1);
    if (flags.given("--vocab-file")) result.vocabulary_file = flags.text("--vocab-file");
    return result;
}

Converted exported(const Flags& flags, Checkpoint source, const std::string& path, HuggingFaceFolder& folder) {
    refuse_options(flags, {"--joined-qkv", "--vocab-size"}, "is for files of transformers, and " + path + " is none");
    BertArguments arguments = arguments_of(flags, source, path);
    const weights::ExportSettings settings{.transform = arguments.transform, .sizes = arguments.config.sizes};
    std::vector<std::string> names = weights::class_names(source.metadata);
    Converted result = weights::to_hugging_face(std::move(source), settings, path);
    BertConfig& config = arguments.config;
    check_heads(config, result, path);
    config.heads = heads_of(config, result);
    config.class_names = std::move(names);
    set_sizes(config, result.sizes);
    config.variables = result.variables;
    config.architecture = result.architecture;
    folder.add(weights::kConfigFile, to_json(config));
    if (config.architecture == weights::kWithoutTransform)
        folder.add(weights::kWithoutTransformFile, std::string(weights::without_transform_source()));
    folder.add_vocabulary(arguments.vocabulary_file, flags.given("--vocab-file"), config.sizes.vocabulary, path);
    if (arguments.lower_case) folder.add_tokeniser(*arguments.lower_case, arguments.splits_special_tokens);
    result.checkpoint.metadata["format"] = "pt";  // transformers asks for it
    return result;
}

// ---- what is printed ----

std::int64_t elements_of(const Checkpoint& checkpoint) {
    std::int64_t sum = 0;
    for (const auto& [name, tensor] : checkpoint.tensors)
        sum += tensor.elements();
    return sum;
}

void list_left_out(const Converted& result) {
    constexpr std::size_t kMost = 20;
    if (!result.left_out.empty()) std::cout << "Weights left out: " << some_listed(result.left_out, kMost) << '\n';
    if (!result.without_effect.empty()) {
        std::cout << "Left out without effect: " << result.without_effect.size()
                  << " tensors (biases of keys, zeros, numbers of positions)\n";
    }
    if (!result.slots.empty()) std::cout << "Left out: " << result.slots.size() << " optimiser slots\n";
}

void in_f32(Checkpoint& checkpoint) {
    for (auto& [name, tensor] : checkpoint.tensors) {
        if (tensor.dtype() != DType::f32) tensor = tensor.cast(DType::f32);
    }
}

void make_folder_of(const std::string& target) {
    if (!folder_part(target).empty()) posix_files().make_directories(folder_part(target));
}

// ---- weights of other programs ----

void list_left_out(const std::vector<weights::LeftOut>& left_out) {
    constexpr std::size_t kMost = 20;
    for (std::size_t i = 0; i < std::min(kMost, left_out.size()); ++i)
        std::cout << "Left out: " << left_out[i].name << " " << left_out[i].reason << '\n';
    if (left_out.size() > kMost) std::cout << "Left out: " << left_out.size() - kMost << " more\n";
}

/// Writes the tensors with their own names.
void copy_weights(const Flags& flags, weights::ForeignFile file, const std::string& source, const std::string& target) {
    refuse_options(flags,
                   {"--vocab-size", "--joined-qkv", "--hidden-act", "--layer-norm-epsilon", "--vocab-file", kTrustFlag},
                   "is for checkpoints of BERT, and " + source + " is copied as it is");
    std::vector<NamedPath> inputs;
    for (const std::string& path : file.paths)
        inputs.push_back({"--from", path});
    check_outputs(posix_files(), {{{"--to", target}, flags.given("--overwrite"), "--overwrite"}}, inputs);
    std::int64_t numbers = 0;
    for (const auto& [name, desc] : file.tensors.descs)
        numbers += desc.elements();
    const std::size_t count = file.tensors.descs.size();
    make_folder_of(target);
    weights::save(posix_files(), target, {},
                  flags.wants_f32() ? weights::in_f32(std::move(file.tensors)) : std::move(file.tensors));
    std::cout << source << " (" << weights::name(file.format) << (file.part.empty() ? "" : ", part " + file.part)
              << ") -> " << target << ": " << count << " tensors, " << numbers << " numbers\n";
    if (!file.other_parts.empty()) std::cout << "Other parts, which --part takes: " << joined(file.other_parts) << '\n';
    list_left_out(file.left_out);
}

/// True if the file is one of another program and was copied. One with BERT in the layout of transformers is not,
/// unless a part of it is asked for.
bool copies_weights(const Flags& flags, const std::string& source, const std::string& target) {
    if (!weights::foreign_format(posix_files(), source)) {
        refuse_options(flags, {"--part"}, "is for files of PyTorch, and " + source + " is none");
        return false;
    }
    const bool has_part = flags.given("--part");
    weights::ForeignFile file = weights::open_foreign(posix_files(), source, has_part ? flags.text("--part") : "");
    if (!has_part && weights::is_hugging_face(file.tensors)) return false;
    if (file.tensors.descs.empty()) {
        const std::string first =
            file.left_out.empty() ? "" : ": '" + file.left_out[0].name + "' " + file.left_out[0].reason;
        throw Error(ErrorKind::data, "--from " + source + ": there is no tensor in it that can be read" + first);
    }
    copy_weights(flags, std::move(file), source, target);
    return true;
}

}  // namespace

CommandFlags convert_flags() {
    CommandFlags table{run_flags(), std::string(kMore)};
    table.flags.insert(
        table.flags.end(),
        {{"--from", "",
          "instead of RUN: a run's checkpoint, a file of weights of PyTorch, Keras or TensorFlow (detected by its "
          "content), or BERT of transformers (detected by the tensors' names)"},
         kCheckpointDtypeFlag,
         rare({"--part", "",
               "from PyTorch: which of several dictionaries of tensors to take as it is, such as model_ema; without "
               "it, state_dict, model or the only one"}),
         rare({"--vocab-size", "0",
               "from transformers: number of rows of the word embedding to keep, from the first; 0: all"}),
         rare(toggle("--joined-qkv",
                     "from transformers: one variable for queries, keys and values (no --use-qkv-split)")),
         rare({"--hidden-act", "", "to transformers, if the run's arguments.json is missing: gelu or gelu_erf"}),
         rare({"--layer-norm-epsilon", "", "to transformers, if the run's arguments.json is missing"}),
         {"--vocab-file", "",
          "to transformers: vocabulary to write as vocab.txt; without it, the --vocab-file of the run"},
         toggle("--overwrite", "replace files that are there"),
         rare(toggle(kTrustFlag, "accept a checkpoint whose checksum does not match because another tool edited it"))});
    return table;
}

int convert_command(const Invocation& invocation) {
    refuse_script_actions(invocation.arguments);
    const Flags flags(convert_flags(), called(invocation), invocation.arguments);
    if (flags.print_help_if_wanted()) return 0;
    const bool of_run = flags.given("RUN");
    if (of_run && !wants_hugging_face(flags)) return convert_run(flags);
    if (!of_run && !flags.given("--from")) {
        throw Error(ErrorKind::usage,
                    "give a run (cnntrain convert RUN --to onnx) or a file (cnntrain convert --from FILE --to PATH)");
    }
    if (!of_run) refuse_format_of_file(flags);
    const bool wants_f32 = flags.wants_f32();
    const Found found =
        of_run ? checkpoint_of_run(flags) : weights::find_checkpoint(posix_files(), "--from", flags.text("--from"));
    const std::string target = of_run ? hugging_face_target(flags, found.path) : target_file(flags.text("--to"));
    weights::refuse_run_checkpoint(posix_files(), "--to", target);
    const bool overwrite = flags.given("--overwrite");
    check_outputs(posix_files(), {{{"--to", target}, overwrite, "--overwrite"}}, {{"--from", found.path}});
    if (!of_run && copies_weights(flags, found.path, target)) return 0;
    Checkpoint source = weights::load(posix_files(), found.path, weights::edited_if(flags.given(kTrustFlag)));
    const bool importing = weights::is_hugging_face(source);
    if (of_run) refuse_for_hugging_face(source, found.path);
    const std::unique_ptr<tasks::TrainedNetwork> network = of_run ? open_run(flags, source) : nullptr;
    const std::map<std::string, HostTensor> expected = of_run ? source.tensors : std::map<std::string, HostTensor>{};
    HuggingFaceFolder folder(folder_part(target), overwrite);
    Converted result = importing ? imported(flags, std::move(source), found.path)
                                 : exported(flags, std::move(source), found.path, folder);
    if (wants_f32) in_f32(result.checkpoint);
    folder.check(found.path);
    make_folder_of(target);
    const auto write = [&](FileSystem& files) {
        weights::save(files, target, result.checkpoint);
        folder.write(files);
    };
    std::vector<std::string> paths = folder.paths();
    paths.insert(paths.begin(), target);
    std::string compared;
    if (network) {
        compared = write_compared(*network, paths, result, expected, write);
    } else {
        write(posix_files());
    }
    std::cout << found.path << (importing ? " (Hugging Face's layout)" : "") << " -> " << target
              << (importing ? "" : " (Hugging Face's layout)") << ": " << result.checkpoint.tensors.size()
              << " tensors, " << elements_of(result.checkpoint) << " numbers\n";
    list_left_out(result);
    if (importing) {
        std::cout << "Options of this network: " << network_options(result, config_of(result.checkpoint, target))
                  << '\n';
    }
    for (const std::string& note : folder.notes())
        std::cout << note << '\n';
    std::cout << compared;
    return 0;
}

}  // namespace cnntrain::cli

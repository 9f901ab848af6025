// `cnntrain convert`: BERT checkpoints from and to Hugging Face's layout.
#include <algorithm>
#include <array>
#include <iostream>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/checkpoint/hugging_face.h"

namespace cnntrain::cli {

namespace {

using checkpoint::Checkpoint;
using checkpoint::Converted;
using checkpoint::kTrustFlag;

/// What the script of this name was told first: ways between layouts of TensorFlow's checkpoint files.
constexpr std::array<std::string_view, 4> kScriptActions = {"graphcore2google", "google2graphcore", "research2apps",
                                                            "apps2research"};

void refuse_script_actions(const std::vector<std::string>& arguments) {
    for (const std::string& word : arguments) {
        if (std::ranges::find(kScriptActions, word) == kScriptActions.end()) continue;
        throw Error(
            ErrorKind::unsupported,
            word + " is about TensorFlow's checkpoint files, which this program does not read; convert them with " +
                "Hugging Face's transformers (save_pretrained), then: cnntrain convert --from model.safetensors "
                "--to FILE");
    }
}

void list_left_out(const std::vector<std::string>& names) {
    if (names.empty()) return;
    constexpr std::size_t kMost = 5;
    std::cout << "Left out: ";
    for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i)
        std::cout << (i == 0 ? "" : ", ") << names[i];
    if (names.size() > kMost) std::cout << " and " << names.size() - kMost << " more";
    std::cout << '\n';
}

std::int64_t elements_of(const Checkpoint& checkpoint) {
    std::int64_t sum = 0;
    for (const auto& [name, tensor] : checkpoint.tensors)
        sum += tensor.elements();
    return sum;
}

}  // namespace

int convert_command(const Invocation& invocation) {
    refuse_script_actions(invocation.arguments);
    const Flags flags(
        called(invocation),
        {{"--from", "",
          "needed: a run's checkpoint, or model.safetensors of transformers; which it is, its names tell"},
         {"--to", "", "needed: file to write"},
         {"--vocab-size", "0", "from transformers: keep so many rows of the table of words, from the first; 0: all"},
         {"--joined-qkv",
          "",
          "from transformers: one variable for queries, keys and values (no --use-qkv-split)",
          {},
          true},
         {kTrustFlag, "", "use a checkpoint whose checksum does not fit because another tool edited it", {}, true}},
        invocation.arguments);
    if (flags.print_help_if_wanted(
            "\nBERT checkpoints from and to the layout of Hugging Face's BertForPreTraining:\n"
            "  cnntrain convert --from bert-base-uncased/model.safetensors --to base.safetensors\n"
            "  cnntrain convert --from RUN/ckpt-7031 --to exported/model.safetensors\n"
            "Weights keep their bits. Biases of keys, which change no attention, are left out on the way in "
            "and zeros\n"
            "on the way out; so are other biases that a network does without. Optimiser slots stay behind.\n"))
        return 0;
    const std::string& target = flags.text("--to");
    const checkpoint::Found found = checkpoint::find_checkpoint(posix_files(), "--from", flags.text("--from"));
    const Checkpoint source =
        checkpoint::load(posix_files(), found.path, checkpoint::edited_if(flags.given(kTrustFlag)));
    const bool importing = checkpoint::is_hugging_face(source);
    const checkpoint::ImportSettings settings{.qkv_split = !flags.given("--joined-qkv"),
                                              .vocabulary = flags.integer("--vocab-size", 0)};
    if (!importing && (flags.given("--joined-qkv") || settings.vocabulary != 0)) {
        throw Error(ErrorKind::usage,
                    "--joined-qkv and --vocab-size are for files of transformers, and " + found.path + " is none");
    }
    Converted result = importing ? checkpoint::from_hugging_face(source, settings, found.path)
                                 : checkpoint::to_hugging_face(source, found.path);
    result.checkpoint.metadata["format"] = "pt";  // transformers asks for it
    const std::size_t slash = target.rfind('/');
    if (slash != std::string::npos) posix_files().make_directories(target.substr(0, slash));
    checkpoint::save(posix_files(), target, result.checkpoint);
    std::cout << found.path << (importing ? " (Hugging Face's layout)" : "") << " -> " << target
              << (importing ? "" : " (Hugging Face's layout)") << ": " << result.checkpoint.tensors.size()
              << " tensors, " << elements_of(result.checkpoint) << " numbers\n";
    list_left_out(result.left_out);
    return 0;
}

}  // namespace cnntrain::cli

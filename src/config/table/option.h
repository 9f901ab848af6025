// One row of the option table, and the table. Parser, configuration reader, help, arguments.json and provenance
// read these rows and nothing else.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/config/parse.h"
#include "config/table/binding.h"

namespace cnntrain::config {

enum class Type : std::uint8_t {
    boolean,        // --x, --no-x
    boolean_value,  // --x, --no-x, --x true, --x false
    integer,
    number,
    text,
    choice,    // one of `choices`, in any case
    integers,  // lists take every word up to the next option
    numbers,   // ... also separated by commas
    texts,
    patterns,   // names of files with wildcards: every word up to the next option; one text, with commas between
    structure,  // nested lists or an object, as JSON text
};

enum class Group : std::uint8_t {
    main,
    run,
    model,
    resnext,
    efficientnet,
    dataset,
    training,
    schedule,
    ipu,
    logging,
    bert,
    text,
    pretraining_main,
    pretraining,
    pretraining_ipu,
    pretraining_logging,
};

/// Sets are bit masks: of commands, model families and learning-rate schedules.
template <typename E> constexpr std::uint32_t bit(E value) {
    return 1U << static_cast<std::uint32_t>(value);
}
inline constexpr std::uint32_t kAll = ~0U;
inline constexpr std::uint32_t kT = bit(Command::train);
inline constexpr std::uint32_t kV = bit(Command::validation);
inline constexpr std::uint32_t kE = bit(Command::inference);
inline constexpr std::uint32_t kR = bit(Command::restore);
inline constexpr std::uint32_t kTVE = kT | kV | kE;
inline constexpr std::uint32_t kP = bit(Command::pretrain);

/// The commands that share one set of options with this one: a flag or a key may mean one thing to networks for images and
/// another to BERT.
constexpr std::uint32_t program_of(Command command) {
    return command == Command::pretrain ? kP : ~kP;
}

/// Where a run's images come from, as far as options care.
enum class Images : std::uint8_t {
    imagenet_files,
    cifar_files,
    class_folders,
    imagenet_made,
    cifar_made
};  // made: generated or synthetic
inline constexpr std::uint32_t kImagenetFiles = bit(Images::imagenet_files);
inline constexpr std::uint32_t kCifarFiles = bit(Images::cifar_files);
inline constexpr std::uint32_t kPhotoFiles = kImagenetFiles | bit(Images::class_folders);
inline constexpr std::uint32_t kFiles = kPhotoFiles | kCifarFiles;
inline constexpr std::uint32_t kPhotos = kPhotoFiles | bit(Images::imagenet_made);

/// Another option without which one changes nothing: its value is one of these, or any but its default.
struct Need {
    std::string_view key;
    std::vector<std::string_view> values = {};
};

struct Alias {
    std::string_view flag;
    std::string_view fixed_value = {};  // when set, the alias takes no value and means this one
};

struct Range {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
};
constexpr Range at_least(double low) {
    return {.low = low};
}
constexpr Range between(double low, double high) {
    return {low, high};
}
// Beyond these nothing sensible can be asked for. That several of them fit together is for base/checked.h to see.
inline constexpr double kMostIterations = 1e12;
inline constexpr double kMostEpochs = 1e9;
inline constexpr double kMostReplicas = 1e6;
inline constexpr double kMostChannels = 4096;
inline constexpr double kMostThreads = 4096;  // of any machine; this one's are in checks.cpp
inline constexpr double kMostBytes = 1e15;
inline constexpr Range kExponents{-126, 127};  // powers of 2 that a 32-bit float holds
inline constexpr Range kDropped{0, 0.999999};  // something must be left

struct Option {
    std::string_view flag = {};
    Type type = Type::boolean;
    Value fallback = {};  // the default; std::monostate: none, or the model's
    std::string_view help = {};
    std::string_view unit = {};
    std::vector<Alias> aliases = {};
    std::vector<std::string_view> choices = {};
    Range range = {};  // of numbers, or of each in a list; besides, a number that is not whole fits into 32 bits
    std::uint32_t commands = kTVE;  // that take it
    std::uint32_t models = kAll;
    std::uint32_t schedules = kAll;
    // Where it changes something (acting.cpp); where it does not, its user is told so.
    std::uint32_t acts_in = kAll;          // commands
    std::uint32_t acts_on = kAll;          // Images,
    std::uint32_t acts_on_in = kAll;       // in these commands; any in the others
    std::string_view acts_on_reason = {};  // why not on others; empty: what acts_on says
    std::vector<Need> needs = {};          // one of these, if there are any
    bool needs_processes = false;          // more than one
    std::string_view idle = {};            // why it never does
    bool numerics = false;                 // changes the numbers that a run computes
    bool ipu_only = false;                 // steers the IPU's compiler or memory; no effect elsewhere
    bool off_switch = false;               // a boolean whose documented flag is the --no- form
    bool action = false;                   // for this one call (printing, trusting); no part of a run's arguments
    std::string_view missing = {};         // the capability this version does not have, or
    std::vector<std::string_view> missing_choices = {};  // the choices that it does not have
    std::uint32_t missing_in = kT;                       // commands on which these have an effect
    Binding bind = {};                                   // where it stands in Settings, if one member holds it
    Group group = Group::main;                           // filled in by option_table()
};

/// Every option of every command, in the order of help.
const std::vector<Option>& option_table();

/// The rows, one file per group.
std::vector<Option> main_options();
std::vector<Option> run_options();
std::vector<Option> model_options();
std::vector<Option> resnext_options();
std::vector<Option> efficientnet_options();
std::vector<Option> dataset_options();
std::vector<Option> training_options();
std::vector<Option> schedule_options();
std::vector<Option> ipu_options();
std::vector<Option> logging_options();
std::vector<Option> bert_options();
std::vector<Option> text_options();
std::vector<Option> pretraining_main_options();
std::vector<Option> pretraining_options();
std::vector<Option> pretraining_ipu_options();
std::vector<Option> pretraining_logging_options();

std::string_view title(Group group);

/// Key in configuration files and arguments.json.
std::string key(const Option& option);
/// "--validation" and "--no-validation"; "--no-dataset-cache" and "--dataset-cache".
std::string negated(std::string_view flag);
/// The flag as documented: the --no- form of an off switch.
std::string documented_flag(const Option& option);

bool is_boolean(const Option& option);
bool is_list(const Option& option);

std::vector<const Option*> active_options(Command command, nn::Family family, optim::LrSchedule schedule);
/// The option that a key means to the command's program (its own or an old name's), nullptr when there is none. `alias`
/// receives the old name.
const Option* option_with_key(std::string_view key, Command command, const Alias** alias);

}  // namespace cnntrain::config

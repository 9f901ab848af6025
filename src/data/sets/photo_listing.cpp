#include "data/sets/photo_set.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "data/records/tar.h"
#include "data/sets/resolve.h"
#include "data/text/table.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrain = "train";
constexpr std::string_view kTest = "test";
constexpr std::array<std::string_view, 3> kValidation = {"validation", "valid", "val"};
/// Folders are rarely deeper; greater depth indicates a loop of links.
constexpr int kMaxDepth = 32;

[[noreturn]] void fail_listing(const std::string& what) {
    throw Error(ErrorKind::data, "folder: " + what);
}

/// Systems leave __MACOSX in archives.
bool is_hidden(const std::string& name) {
    return name.starts_with('.') || name == "__MACOSX";
}

bool is_folder(const fs::path& path) {
    std::error_code failed;
    return fs::is_directory(path, failed);
}

struct Content {
    std::vector<std::string> folders;  // sorted, as the others; links are followed
    std::vector<std::string> files;
    std::vector<std::string> hidden;
};

/// The names in a folder.
Content folder_content(const fs::path& folder) {
    Content content;
    try {
        for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
            std::string name = entry.path().filename().string();
            std::error_code failed;
            if (name == kGeneratedMark || name == kFolderLockName) continue;
            if (is_hidden(name)) {
                content.hidden.push_back(std::move(name));
            } else if (entry.is_directory(failed)) {
                content.folders.push_back(std::move(name));
            } else {
                content.files.push_back(std::move(name));
            }
        }
    } catch (const fs::filesystem_error& error) {
        fail_listing("cannot read " + folder.string() + ": " + error.code().message());
    }
    for (auto* names : {&content.folders, &content.files, &content.hidden})
        std::ranges::sort(*names);
    return content;
}

std::string below(const std::string& folder, const std::string& name) {
    return folder.empty() ? name : folder + "/" + name;
}

/// Lists the class folders of one place.
class Lister {
public:
    Lister(PhotoListing& listing, std::optional<Split> split) : listing_(listing), split_(split) {}

    /// All folders in `folder` (relative to the top), but those in `left_out`, are classes.
    void add_classes(const std::string& folder, const std::vector<std::string>& left_out = {}) {
        const Content content = folder_content(path(folder));
        for (const std::string& name : content.folders) {
            if (std::ranges::find(left_out, name) != left_out.end()) continue;
            class_number_ = listing_.classes.size();
            listing_.classes.push_back(name);
            add_tree(below(folder, name), 0);
        }
        add_unused(folder, content.files, Unused::no_class);
        add_unused(folder, content.hidden, Unused::hidden);
    }

    /// Files of `folder` are in no split.
    void add_rest(const std::string& folder, const std::vector<std::string>& splits) {
        const Content content = folder_content(path(folder));
        for (const std::string& name : content.folders) {
            if (std::ranges::find(splits, name) == splits.end())
                listing_.unused.push_back({below(folder, name) + "/", Unused::no_split});
        }
        add_unused(folder, content.files, Unused::no_split);
        add_unused(folder, content.hidden, Unused::hidden);
    }

private:
    fs::path path(const std::string& folder) const { return fs::path(listing_.top) / folder; }

    void add_unused(const std::string& folder, const std::vector<std::string>& names, Unused reason) {
        for (const std::string& name : names)
            listing_.unused.push_back({below(folder, name), reason});
    }

    void add_tree(const std::string& folder, int depth) {
        if (depth > kMaxDepth) {
            fail_listing(path(folder).string() + " is more than " + std::to_string(kMaxDepth) +
                         " folders deep; is a link in it a loop?");
        }
        const Content content = folder_content(path(folder));
        if (content.files.empty() && content.folders.size() > 1) {
            fail_listing(
                path(folder).string() + " holds no photos but " +
                counted(static_cast<std::int64_t>(content.folders.size()), "folder") + ", such as " +
                content.folders[0] + " and " + content.folders[1] +
                ": it is not clear which are the classes; give --data-dir the folder in which each folder is a class, "
                "or a table of files and classes (.csv); folders of splits are named train and validation, in small "
                "letters");
        }
        for (const std::string& name : content.files)
            listing_.photos.push_back({below(folder, name), class_number_, split_});
        for (const std::string& name : content.folders)
            add_tree(below(folder, name), depth + 1);
        add_unused(folder, content.hidden, Unused::hidden);
    }

    PhotoListing& listing_;
    std::optional<Split> split_;
    std::size_t class_number_ = 0;
};

/// Names of validation splits that exist in a folder.
std::vector<std::string> validation_folders(const fs::path& top) {
    std::vector<std::string> found;
    for (const std::string_view name : kValidation) {
        if (is_folder(top / name)) found.emplace_back(name);
    }
    return found;
}

/// True if one of the first files in or below a folder is an image.
bool holds_images(const fs::path& folder) {
    constexpr int kMostFiles = 32;
    std::error_code failed;
    int files = 0;
    for (fs::recursive_directory_iterator entry(folder, failed), end;
         !failed && entry != end && files < kMostFiles && entry.depth() < 3; entry.increment(failed), ++files) {
        std::error_code ignored;  // a link that leads to itself
        if (entry->is_regular_file(ignored) && is_image_file(entry->path().string())) return true;
    }
    return false;
}

void note_test(const fs::path& top, PhotoListing& listing) {
    if (!is_folder(top / kTest)) return;
    listing.unused.push_back({std::string(kTest) + "/", Unused::test_data});
    const std::string path = (top / kTest).string();
    listing.notices.push_back("folder: " + path +
                              " is used neither for training nor for validation; to validate with it, give validation "
                              "--data-dir " +
                              path);
}

/// Notes that a share of train/ is held out although there are photos for validation next to it.
void note_validation_beside(const fs::path& top, PhotoListing& listing) {
    const std::vector<std::string> validation = validation_folders(top.parent_path());
    if (top.filename() != kTrain || validation.empty()) return;
    listing.notices.push_back("folder: " + (top.parent_path() / validation.front()).string() +
                              " is not used; to validate with it, give --data-dir " + top.parent_path().string());
}

/// Number of `name` among the sorted classes; it must be one.
std::size_t number_of(const std::vector<std::string>& classes, const std::string& name, const fs::path& folder) {
    const auto found = std::ranges::lower_bound(classes, name);
    if (found == classes.end() || *found != name) {
        fail_listing((folder / name).string() + " is not a class of training: there is no folder train/" + name +
                     "; add it, or rename or remove this one");
    }
    return static_cast<std::size_t>(found - classes.begin());
}

PhotoListing list_splits(const fs::path& top) {
    PhotoListing listing;
    listing.top = top.string();
    const std::vector<std::string> validation = validation_folders(top);
    if (validation.size() > 1) {
        fail_listing(top.string() + " holds " + listed({validation[0] + "/", validation[1] + "/"}, "and") +
                     "; keep one of them");
    }
    const bool has_train = is_folder(top / kTrain);
    listing.holds_out = validation.empty();
    const fs::path held = validation.empty() ? top / kTrain : top / validation.front();
    listing.places = {(has_train ? top / kTrain : held).string(), held.string()};
    const auto split = [&](Split named) { return listing.holds_out ? std::nullopt : std::optional(named); };
    if (has_train) Lister(listing, split(Split::train)).add_classes(std::string(kTrain));
    if (!validation.empty()) {
        PhotoListing evaluated;
        evaluated.top = listing.top;
        Lister(evaluated, Split::validation).add_classes(validation.front());
        if (!has_train) listing.classes = evaluated.classes;
        for (ListedPhoto& photo : evaluated.photos) {
            photo.class_number = number_of(listing.classes, evaluated.classes[photo.class_number], held);
            listing.photos.push_back(std::move(photo));
        }
        std::ranges::move(evaluated.unused, std::back_inserter(listing.unused));
    }
    std::vector<std::string> splits = {std::string(kTrain), std::string(kTest)};
    splits.insert(splits.end(), validation.begin(), validation.end());
    Lister(listing, std::nullopt).add_rest("", splits);
    note_test(top, listing);
    return listing;
}

/// A folder of class folders. One whose own name is that of a split for evaluation is that split.
PhotoListing list_classes(const fs::path& top) {
    PhotoListing listing;
    listing.top = top.string();
    const std::string name = top.filename().string();
    const bool evaluates = name == kTest || std::ranges::find(kValidation, name) != kValidation.end();
    listing.places = {top.string(), top.string()};
    listing.holds_out = !evaluates;
    Lister(listing, evaluates ? std::optional(Split::validation) : std::nullopt).add_classes("", {std::string(kTest)});
    note_test(top, listing);
    note_validation_beside(top, listing);
    return listing;
}

}  // namespace

bool names_validation_photos(const std::string& place, const TableLabels& labels) {
    std::error_code failed;
    if (is_shards(place)) return names_validation_shards(place);
    if (!is_photo_table(place)) return !validation_folders(place).empty();
    return fs::is_regular_file(place, failed) && !list_photo_table(place, labels).holds_out;
}

bool looks_like_photos(const std::string& place) {
    constexpr int kMostFolders = 64;
    const fs::path top = place;
    std::error_code failed;
    if (is_photo_table(place)) return fs::is_regular_file(top, failed);
    if (is_shards(place)) return true;
    if (!is_folder(top)) return false;
    const bool has_train = is_folder(top / kTrain);
    const std::vector<std::string> validation = validation_folders(top);
    const fs::path classes = has_train ? top / kTrain : validation.empty() ? top : top / validation.front();
    int looked_into = 0;
    for (fs::directory_iterator entry(classes, failed), end; !failed && entry != end; entry.increment(failed)) {
        std::error_code ignored;
        if (is_hidden(entry->path().filename().string()) || !entry->is_directory(ignored)) continue;
        if (++looked_into <= kMostFolders && holds_images(entry->path())) return true;
    }
    return false;
}

PhotoListing list_photos(const std::string& place, const TableLabels& labels) {
    const fs::path top = fs::absolute(without_trailing_slashes(place)).lexically_normal();
    const auto has_splits = [&] { return is_folder(top / kTrain) || !validation_folders(top).empty(); };
    PhotoListing listing = is_photo_table(place) ? list_photo_table(place, labels)
                           : is_shards(place)    ? list_shards(place)
                           : has_splits()        ? list_splits(top)
                                                 : list_classes(top);
    for (const std::string& name : listing.classes)
        check_class_name("folder: " + place, name);
    return listing;
}

// Tables of photos: a file and its class in each row, and perhaps its split.

namespace {

enum Column : std::size_t { file_column, class_column, split_column, column_count };

/// Names of columns, in lower case.
constexpr std::array<std::array<std::string_view, 11>, column_count> kNames = {{
    {"file", "path", "filename", "file_name", "filepath", "file_path", "image", "image_path", "image_name", "photo"},
    {"class", "label", "category", "class_name", "target", "labels", "label_name", "species", "class_id", "breed",
     "tags"},
    {"split", "set", "subset", "fold", "partition"},
}};

/// Index of each column; beyond the row's cells if the table does not have the column.
using Columns = std::array<std::size_t, column_count>;

/// The columns of a header; nothing if the row is not one. `several`: labels may be columns of their own.
std::optional<Columns> columns_of_header(const TableRow& row, bool several) {
    Columns columns;
    columns.fill(row.cells.size());
    for (std::size_t cell = 0; cell < row.cells.size(); ++cell) {
        const std::string name = in_lower_case(row.cells[cell]);
        for (std::size_t column = 0; column < column_count; ++column) {
            const bool named = !name.empty() && std::ranges::find(kNames[column], name) != kNames[column].end();
            if (named && columns[column] == row.cells.size()) columns[column] = cell;
        }
    }
    const bool whole = columns[file_column] < row.cells.size() && (several || columns[class_column] < row.cells.size());
    return whole ? std::optional(columns) : std::nullopt;
}

[[noreturn]] void fail_row(const std::string& path, std::int64_t line, const std::string& what) {
    throw Error(ErrorKind::data, place_in(path, line) + ": " + what);
}

std::vector<std::string> texts_of(const TableRow& row) {
    return {row.cells.begin(), row.cells.end()};
}

SplitWord split_of(std::string_view cell, const std::string& path, std::int64_t line) {
    const SplitWord split = split_word(in_lower_case(cell));
    if (split != SplitWord::none || cell.empty()) return split;
    fail_row(path, line, "expected the split train, val, valid, validation or test, got '" + std::string(cell) + "'");
}

/// A row that names a file.
struct Row {
    std::string file;
    std::string class_name;
    SplitWord split;
    std::int64_t line;
};

/// A path as Windows writes it, as it is here.
std::string with_slashes(std::string file) {
    std::ranges::replace(file, '\\', '/');
    return file;
}

class TableFile {
public:
    TableFile(const std::string& path, const TableLabels& labels)
        : path_(path), text_(read_text(posix_files(), path)), labels_(labels) {
        text_ = std::string(checked_utf8(text_, path));
    }

    std::vector<Row> rows() {
        const char joint = labels_.several() ? labels_.separator.front() : '\0';
        TableReader reader(text_, table_format(path_, text_), path_, joint);
        std::vector<TableRow> read_rows;
        std::optional<Columns> columns;
        std::vector<std::string> header;
        TableRow row;
        while (reader.next(row)) {
            if (!columns) {
                const std::optional<Columns> named = columns_of_header(row, labels_.several());
                columns = named ? *named : Columns{0, 1, 2};
                cells_ = row.cells.size();
                check_width(row, named.has_value());
                if (named) header = texts_of(row);
                if (named) continue;
            }
            if (row.cells.size() != cells_) {
                fail_row(path_, row.line,
                         "expected " + std::to_string(cells_) + " columns as in the first row, got " +
                             quoted_cells(texts_of(row)));
            }
            read_rows.push_back(row);
        }
        if (read_rows.empty()) throw Error(ErrorKind::data, path_ + " names no file; " + expected());
        std::vector<std::size_t> flags;
        if (columns->at(class_column) == cells_) flags = label_columns(read_rows, *columns, header);
        std::vector<Row> result;
        for (const TableRow& one : read_rows) {
            result.push_back(read(one, *columns));
            if (!flags.empty()) result.back().class_name = names_of_flags(one, flags, header, joint);
        }
        return result;
    }

    /// Columns that say nothing here; "" if there are none.
    const std::string& unused_columns() const { return unused_columns_; }

private:
    std::vector<std::size_t> label_columns(const std::vector<TableRow>& rows, const Columns& columns,
                                           const std::vector<std::string>& header) {
        std::vector<std::size_t> flags = flag_columns(rows, columns);
        std::vector<std::string> others;
        for (std::size_t i = 0; i < header.size(); ++i) {
            const bool is_flag = std::ranges::find(flags, i) != flags.end();
            if (!is_flag && std::ranges::find(columns, i) == columns.end()) others.push_back(header[i]);
            if (is_flag && header[i].find(labels_.separator) != std::string::npos)
                fail_row(path_, 1, "the label '" + header[i] + "' has the separator of labels in it");
        }
        if (flags.empty()) {
            fail_row(
                path_, 1,
                "expected a column of labels, such as labels or tags, or a column of 0 and 1 for each label; got " +
                    quoted_cells(header));
        }
        if (!others.empty()) unused_columns_ = quoted_cells(others);
        return flags;
    }

    std::string expected() const {
        return std::string("expected a file and its ") + (labels_.several() ? "labels" : "class") +
               " in each row, and perhaps its split";
    }

    void check_width(const TableRow& row, bool is_header) const {
        if (is_header || row.cells.size() == 2 || row.cells.size() == 3) return;
        fail_row(path_, row.line,
                 expected() + ", or a header that names the columns file and class; got " +
                     quoted_cells(texts_of(row)) + "; where photos have several labels, give --labels several");
    }

    Row read(const TableRow& row, const Columns& columns) const {
        const auto cell = [&](Column column) {
            return columns[column] < row.cells.size() ? row.cells[columns[column]] : std::string_view();
        };
        if (cell(file_column).empty() || (cell(class_column).empty() && !labels_.several()))
            fail_row(path_, row.line, expected() + "; got " + quoted_cells(texts_of(row)));
        return {std::string(cell(file_column)), std::string(cell(class_column)),
                split_of(cell(split_column), path_, row.line), row.line};
    }

    std::string path_;
    std::string text_;
    TableLabels labels_;
    std::size_t cells_ = 0;
    std::string unused_columns_;
};

/// Sets the classes, and gives each row the number of its class or of its set of labels.
std::vector<std::size_t> number_classes(const std::vector<Row>& rows, const TableLabels& labels,
                                        PhotoListing& listing) {
    std::vector<std::vector<std::string>> names;
    for (const Row& row : rows) {
        names.push_back(labels.several() ? split_labels(row.class_name, labels.separator.front())
                                         : std::vector{row.class_name});
        listing.classes.insert(listing.classes.end(), names.back().begin(), names.back().end());
    }
    sort_classes(listing.classes);
    std::map<std::string_view, std::int32_t> numbers;
    for (const std::string& name : listing.classes)
        numbers.emplace(name, static_cast<std::int32_t>(numbers.size()));
    std::map<std::vector<std::int32_t>, std::size_t> sets;
    std::vector<std::size_t> result;
    for (const std::vector<std::string>& own : names) {
        std::vector<std::int32_t> set;
        for (const std::string& name : own)
            set.push_back(numbers.at(name));
        std::ranges::sort(set);
        set.erase(std::unique(set.begin(), set.end()), set.end());
        if (!labels.several()) {
            result.push_back(static_cast<std::size_t>(set.front()));
            continue;
        }
        const auto [found, is_new] = sets.emplace(set, sets.size());
        if (is_new) listing.label_sets.push_back(set);
        result.push_back(found->second);
    }
    return result;
}

}  // namespace

SplitWord split_word(std::string_view word) {
    if (word == "train" || word == "training") return SplitWord::train;
    if (word == "val" || word == "valid" || word == "validation") return SplitWord::validation;
    return word == "test" || word == "testing" ? SplitWord::test : SplitWord::none;
}

bool names_class_column(std::string_view name) {
    return !name.empty() && std::ranges::find(kNames[class_column], name) != kNames[class_column].end();
}

bool is_photo_table(const std::string& path) {
    const std::string extension = lower_extension(path);
    return extension == ".csv" || extension == ".tsv" || extension == ".jsonl";
}

PhotoListing list_photo_table(const std::string& path, const TableLabels& labels) {
    TableFile table(path, labels);
    std::vector<Row> rows = table.rows();
    PhotoListing listing;
    if (!table.unused_columns().empty())
        listing.notices.push_back(path + ": columns that are not of 0 and 1 are no labels: " + table.unused_columns());
    listing.top = fs::absolute(path).lexically_normal().parent_path().string();
    listing.places = {path, path};
    const auto is_there = [&](const std::string& file) {
        return exists_in_tar((fs::path(listing.top) / file).string());
    };
    if (!is_there(rows.front().file) && is_there(with_slashes(rows.front().file))) {
        for (Row& row : rows)
            row.file = with_slashes(row.file);
    }
    if (!is_there(rows.front().file)) {
        fail_row(path, rows.front().line,
                 "there is no file " + rows.front().file + " in " + listing.top +
                     "; paths are relative to the table, and a header names its columns file, class and split");
    }
    const std::vector<std::size_t> class_numbers = number_classes(rows, labels, listing);

    const bool validates = std::ranges::any_of(rows, [](const Row& row) { return row.split == SplitWord::validation; });
    std::map<std::string, const Row*, std::less<>> seen;
    std::int64_t tests = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Row& row = rows[i];
        const std::string file = fs::path(row.file).lexically_normal().string();
        const auto [found, is_new] = seen.emplace(file, &row);
        if (!is_new) {
            const Row& first = *found->second;
            if (first.class_name == row.class_name && first.split == row.split) {
                listing.unused.push_back({file, Unused::repeated, place_in(path, row.line)});
                continue;
            }
            fail_row(path, row.line,
                     "expected each file once, got " + file + " as in line " + std::to_string(first.line) +
                         ", with another class or split");
        }
        if (row.split == SplitWord::test) {
            listing.unused.push_back({file, Unused::test_data});
            ++tests;
            continue;
        }
        std::optional<Split> split;
        if (row.split == SplitWord::validation) split = Split::validation;
        if (row.split == SplitWord::train && validates) split = Split::train;
        if (row.split == SplitWord::none && validates)
            fail_row(path, row.line, "expected a split, as other rows have: train, val, valid, validation or test");
        listing.holds_out = listing.holds_out || !split;
        listing.photos.push_back({file, class_numbers[i], split});
    }
    if (tests > 0) {
        listing.notices.push_back(counted(tests, "photo") + " of " + path +
                                  " of the split test: used neither for training nor for validation");
    }
    return listing;
}

namespace {

struct Words {
    Unused reason;
    std::string_view one;
    std::string_view many;
};

constexpr auto kWords = std::to_array<Words>({
    {Unused::not_an_image, "not an image", "not images"},
    {Unused::unread_format, "of a format that is not read", "of formats that are not read"},
    {Unused::empty, "empty", "empty"},
    {Unused::too_large, "too large", "too large"},
    {Unused::unreadable, "unreadable", "unreadable"},
    {Unused::missing, "missing", "missing"},
    {Unused::repeated, "named again", "named again"},
    {Unused::no_class, "in no class folder", "in no class folder"},
    {Unused::no_split, "in no split", "in no split"},
    {Unused::test_data, "test data", "test data"},
    {Unused::hidden, "hidden", "hidden"},
});

std::string example_of(const UnusedFile& file) {
    return file.path + (file.detail.empty() ? "" : ": " + file.detail);
}

}  // namespace

std::string unused_text(const UnusedFiles& files) {
    constexpr std::size_t kMostNamed = 3;
    if (files.empty()) return "";
    std::vector<std::string> parts;
    for (const Words& words : kWords) {
        std::vector<std::string> examples;
        std::int64_t count = 0;
        for (const UnusedFile& file : files) {
            if (file.reason != words.reason) continue;
            if (++count <= static_cast<std::int64_t>(kMostNamed)) examples.push_back(example_of(file));
        }
        if (count == 0) continue;
        const bool more = count > static_cast<std::int64_t>(kMostNamed);
        parts.push_back(std::to_string(count) + " " + std::string(count == 1 ? words.one : words.many) + " (" +
                        joined(examples) + (more ? ", ..." : "") + ")");
    }
    return counted(static_cast<std::int64_t>(files.size()), "file") + (files.size() == 1 ? " is" : " are") +
           " not used: " + joined(parts, "; ");
}

std::string unused_csv(const UnusedFiles& files) {
    std::string csv = "file,reason,detail\n";
    for (const UnusedFile& file : files) {
        const auto words = std::ranges::find(kWords, file.reason, &Words::reason);
        csv += csv_field(file.path) + "," + std::string(words->one) + "," + csv_field(file.detail) + "\n";
    }
    return csv;
}

}  // namespace cnntrain::data

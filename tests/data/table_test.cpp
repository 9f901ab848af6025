#include "data/text/table.h"

#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::data {
namespace {

using Rows = std::vector<std::vector<std::string>>;

struct Read {
    Rows rows;
    std::vector<std::int64_t> lines;
};

Read read(std::string text, TableFormat format, char joint = '\0') {
    TableReader reader(text, format, "file", joint);
    Read result;
    for (TableRow row; reader.next(row);) {
        result.rows.emplace_back(row.cells.begin(), row.cells.end());
        result.lines.push_back(row.line);
    }
    return result;
}

std::string refusal(const std::string& text) {
    return message_of(ErrorKind::data, [&] { read(text, TableFormat::csv); });
}

TEST(Table, JsonLinesAreObjectsWithTheKeysOfTheFirst) {
    const Read table = read(
        "{\"file\": \"a\\u00e9\\n.jpg\", \"label\": 3, \"x\": 1e9}\n\n"
        " {\"label\": true, \"file\": \"b, \\\"c\\\".jpg\"}\r\n{\"file\": null, \"label\": -0.5, \"x\": \"\"}",
        TableFormat::json_lines);
    EXPECT_EQ(table.rows, (Rows{{"file", "label", "x"},
                                {"a\xc3\xa9\n.jpg", "3", "1e+09"},
                                {"b, \"c\".jpg", "true", ""},
                                {"", "-0.5", ""}}));
    EXPECT_EQ(table.lines, (std::vector<std::int64_t>{1, 1, 3, 4}));
    EXPECT_TRUE(read("", TableFormat::json_lines).rows.empty());
    EXPECT_EQ(read("{\"\":1E5,\"b\":1E5}", TableFormat::json_lines).rows[1], (Rows{{"1e+05", "1e+05"}})[0]);
    for (const char* bad :
         {"{\"a\": 1", "[1]", "3", "{}", "{\"a\": [1]}", "{\"a\": {\"b\": 1}}", "{\"a\": 1}\n{\"b\": 1}",
          "{\"a\": 1} {\"a\": 2}", "{\"a\": 1e999}", "{\"a\": \"\\ud800\"}"}) {
        EXPECT_THAT(message_of(ErrorKind::data, [&] { read(bad, TableFormat::json_lines); }), HasSubstr("file:"))
            << bad;
    }
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read("{\"a\": 1}\n{\"b\": 1}", TableFormat::json_lines); }),
                AllOf(HasSubstr("file:2"), HasSubstr("'b'")));
}

TEST(Table, ListsOfJsonAreJoinedWhereTheyAreWanted) {
    const std::string text = "{\"a\": [\"x\", \"y z\", 3], \"b\": []}\n{\"a\": \"x\"}";
    EXPECT_EQ(read(text, TableFormat::json_lines, '|').rows, (Rows{{"a", "b"}, {"x|y z|3", ""}, {"x", ""}}));
    for (const char* bad :
         {"{\"a\": [[1]]}", "{\"a\": [\"x|y\"]}", "{\"a\": [null]}", "{\"a\": [\"\"]}", "{\"a\": {}}"}) {
        EXPECT_THAT(message_of(ErrorKind::data, [&] { read(bad, TableFormat::json_lines, '|'); }), HasSubstr("file:1"))
            << bad;
    }
}

TEST(Table, LabelsAreInACellOrInColumnsOfFlags) {
    const std::vector<std::string> header = {"file", "cat", "age", "dog"};
    std::vector<TableRow> rows(2);
    rows[0].cells = {"0", "1", "7", "1.0"};
    rows[1].cells = {"1", "0", "1", "1"};
    const std::vector<std::size_t> used = {0, 4};
    const std::vector<std::size_t> columns = flag_columns(rows, used);
    EXPECT_THAT(columns, ElementsAre(1, 3));
    EXPECT_EQ(names_of_flags(rows[0], columns, header, '|'), "cat|dog");
    EXPECT_EQ(names_of_flags(rows[1], columns, header, ' '), "dog");
    EXPECT_THAT(split_labels(" a |b c||", '|'), ElementsAre("a", "b c"));
    EXPECT_TRUE(split_labels("", '|').empty());
}

TEST(Table, TabsSeparateAndQuotesAreText) {
    const Read table = read("a\t\"b\r\n\n\r\nc\"d\te,f\ng\t\n", TableFormat::tsv);
    EXPECT_EQ(table.rows, (Rows{{"a", "\"b"}, {"c\"d", "e,f"}, {"g", ""}}));
    EXPECT_THAT(table.lines, ElementsAre(1, 4, 5));
    EXPECT_EQ(read("a\tb", TableFormat::tsv).rows, (Rows{{"a", "b"}})) << "no line end behind the last row";
    EXPECT_EQ(read("a\rb\tc\r", TableFormat::tsv).rows, (Rows{{"a\rb", "c"}})) << "only in front of a line feed";
    EXPECT_TRUE(read("", TableFormat::tsv).rows.empty());
    EXPECT_TRUE(read("\n\r\n", TableFormat::csv).rows.empty());
}

TEST(Table, QuotedCells) {
    const Read table = read("\"a, b\",c\r\n\"say \"\"hi\"\"\n\nthere\",\"\"\n\"\"\nx,y\"z,\n,", TableFormat::csv);
    EXPECT_EQ(table.rows, (Rows{{"a, b", "c"}, {"say \"hi\"\n\nthere", ""}, {""}, {"x", "y\"z", ""}, {"", ""}}));
    EXPECT_THAT(table.lines, ElementsAre(1, 2, 5, 6, 7)) << "line ends inside quotes count";
    EXPECT_EQ(read("\"\"\"\"", TableFormat::csv).rows, (Rows{{"\""}}));
}

TEST(Table, BadQuotesAreErrors) {
    EXPECT_THAT(refusal("a,b\nc,\"d\ne,f\n"), HasSubstr("file:2"));
    EXPECT_THAT(refusal("a,b\n\"c\" d,e\n"), HasSubstr("file:2"));
    EXPECT_THAT(refusal("\"" + std::string(kLongestRow + 1, 'x')), HasSubstr("1 MiB"));
    EXPECT_THAT(refusal("\n" + std::string(kLongestRow + 1, 'x')), HasSubstr("file:2"));
    EXPECT_EQ(read(std::string(kLongestRow, 'x'), TableFormat::csv).rows[0][0].size(), kLongestRow);
}

TEST(Table, TheEndingOrTheFirstLineTellsTheFormat) {
    EXPECT_EQ(table_format("a.tsv", "a,b"), TableFormat::tsv);
    EXPECT_EQ(table_format("b/a.CSV", "a\tb"), TableFormat::csv);
    EXPECT_EQ(table_format("a.txt", "a,b\n\t"), TableFormat::csv);
    EXPECT_EQ(table_format("tsv", "a,b\tc\n"), TableFormat::tsv);
    EXPECT_EQ(table_format("a.JSONL", "{}"), TableFormat::json_lines);
}

TEST(Table, OnlyUtf8) {
    EXPECT_EQ(checked_utf8("\xef\xbb\xbf\u00e9 a", "f"), "\u00e9 a");
    const auto refusal = [](std::string_view text) {
        return message_of(ErrorKind::data, [&] { checked_utf8(text, "f"); });
    };
    EXPECT_THAT(refusal("a\nb\ncaf\xe9\n"), AllOf(HasSubstr("f:3"), HasSubstr("expected UTF-8")));
    EXPECT_THAT(refusal(std::string_view("a\n\0b", 4)), HasSubstr("f:2"));
    EXPECT_THAT(refusal("\xff\xfe"
                        "a"),
                HasSubstr("UTF"));
}

TEST(Table, CellsInMessagesAreShortAndHarmless) {
    EXPECT_EQ(quoted_cells({"a", "b\n\x1b[2J\u00e9"}), "'a' and 'b  [2J\u00e9'");
    std::string wide;
    for (int i = 0; i < 30; ++i)
        wide += "\u00e9";
    EXPECT_EQ(quoted_cells({wide}), "'" + wide.substr(0, 40) + "...'");
    EXPECT_THAT(quoted_cells(std::vector<std::string>(12, "x")), testing::EndsWith(", 'x' and 2 more"));
}

}  // namespace
}  // namespace cnntrain::data

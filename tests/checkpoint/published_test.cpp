#include "cnntrain/weights/published.h"

#include <cstdlib>
#include <set>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/faults.h"
#include "support/faulty_files.h"
#include "support/http_server.h"
#include "support/matchers.h"
#include "support/sha256.h"
#include "support/temporary_folder.h"

namespace cnntrain::weights {
namespace {

using std::chrono::milliseconds;
using test::HttpServer;

std::string row_text(const std::string& name, const std::string& facts) {
    return name + ": {source: timm, model: resnet, size: '18', architecture: resnet18, classes: 1000, pixels: 224, " +
           "crop: 0.95, interpolation: bicubic, mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25], " + facts + "}\n";
}

class Published : public ::testing::Test {
protected:
    Published() {
        setenv("no_proxy", "127.0.0.1", 1);
        Checkpoint checkpoint;
        HostTensor& tensor = checkpoint.tensors.emplace("w", HostTensor({DType::f32, {750'000}})).first->second;
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            tensor.set(i, static_cast<double>(i % 1009));
        MemoryFiles files;
        save(files, "/w.safetensors", checkpoint);
        content_ = read_text(files, "/w.safetensors");
        server_.set(kFile, {content_});
        host_.pause = milliseconds(1);
        host_.patience = std::chrono::seconds(1);
    }

    PublishedWeights row(const std::string& path = kFile, const std::string& facts = "") const {
        const std::string sum = "sha256: '" + sha256(content_).substr(0, 8) + "', ";
        return parse_published(row_text("net.tag", sum + facts + "address: '" + server_.address(path) + "'"), "t")[0];
    }
    PublishedWeights row_without_sum() const {
        PublishedWeights weights = row();
        weights.sha256.clear();
        return weights;
    }
    std::string fetch(const PublishedWeights& weights) { return fetch_published(files_, weights, "/cache", host_); }
    void expect_fetched(const PublishedWeights& weights) {
        EXPECT_EQ(fetch(weights), "/cache/net.tag");
        EXPECT_TRUE(read_text(files_, kPath) == content_);
        EXPECT_TRUE(exists(files_, "/cache/net.tag/config.json"));
        EXPECT_FALSE(exists(files_, std::string(kPath) + ".download"));
    }
    /// The ranges that were asked for, "" for the whole file.
    std::vector<std::string> ranges() const {
        std::vector<std::string> found;
        for (const std::string& head : server_.requests()) {
            const std::size_t at = head.find("Range: bytes=");
            const std::size_t begin = at + std::string("Range: bytes=").size();
            found.push_back(at == std::string::npos ? "" : head.substr(begin, head.find('\r', begin) - begin));
        }
        return found;
    }

    static constexpr const char* kFile = "/resnet18-0.pth";
    static constexpr const char* kPath = "/cache/net.tag/pytorch_model.bin";
    std::string content_;
    HttpServer server_;
    MemoryFiles files_;
    FetchHost host_;
};

TEST_F(Published, AFileIsFetchedOnceWithAConfigOfTimmsForm) {
    std::uint64_t done = 0;
    host_.progress = [&](std::uint64_t now, std::uint64_t first, std::uint64_t total) {
        EXPECT_EQ(first, 0U);
        EXPECT_EQ(total, content_.size());
        EXPECT_GE(now, std::exchange(done, now));
    };
    expect_fetched(row());
    EXPECT_EQ(done, content_.size());
    const std::string config = read_text(files_, "/cache/net.tag/config.json");
    for (const char* fact :
         {"\"architecture\": \"resnet18\"", "\"num_classes\": 1000", "\"crop_pct\": 0.95", "bicubic"})
        EXPECT_THAT(config, HasSubstr(fact));
    expect_fetched(row());
    EXPECT_THAT(server_.requests(), SizeIs(1));
}

TEST_F(Published, LostConnectionsAreTakenUpAgain) {
    server_.fail({{.cut_after = 1'000'000}, {.cut_after = 500'000}, {.status = 503}, {.cut_after = 0}});
    expect_fetched(row());
    EXPECT_THAT(ranges(), ElementsAre("", "1000000-", "1500000-", "1500000-", "1500000-"));
}

TEST_F(Published, WithoutPartsTheWholeFileIsSentAgain) {
    server_.set(kFile, {content_, "\"1\"", false});
    server_.fail({{.cut_after = 1'000'000}});
    expect_fetched(row());
}

TEST_F(Published, AChangedFileIsSentAsAWhole) {
    server_.set(kFile, {std::string(content_.size(), 'x'), "\"old\""});
    server_.fail({{.cut_after = 1'000'000}, {.status = 404}});
    EXPECT_EQ(kind_of([&] { fetch(row_without_sum()); }), ErrorKind::data);
    server_.set(kFile, {content_, "\"new\""});
    expect_fetched(row_without_sum());
    EXPECT_THAT(server_.requests().back(), HasSubstr("If-Range: \"old\""));
}

TEST_F(Published, WithoutSumAndNameOfTheContentNothingIsContinued) {
    server_.set(kFile, {content_, ""});
    server_.fail({{.cut_after = 1'000'000}});
    expect_fetched(row_without_sum());
    EXPECT_THAT(ranges(), ElementsAre("", ""));
}

TEST_F(Published, AFileThatHasComeAsAWholeIsNotFetchedAgain) {
    write_text(files_, std::string(kPath) + ".download", content_);
    expect_fetched(row());
    write_text(files_, std::string(kPath) + ".download", content_ + "more");
    files_.remove(kPath);
    files_.remove("/cache/net.tag/config.json");
    expect_fetched(row());
}

TEST_F(Published, AnswersThatLeadNowhereEnd) {
    HttpServer::File part{content_};
    part.most_of_a_part = 1'000'000;
    server_.set(kFile, part);
    expect_fetched(row_without_sum());  // in four parts
    EXPECT_THAT(ranges(), ElementsAre("", "1000000-", "2000000-", "3000000-"));
    files_ = MemoryFiles();

    server_.set(kFile, {content_, "\"1\"", false});
    server_.fail(std::deque<HttpServer::Failure>(10, {.cut_after = 1'000'000}));
    EXPECT_EQ(kind_of([&] { fetch(row()); }), ErrorKind::data);
    server_.fail({});
    server_.set(kFile, {content_});
    expect_fetched(row());
    files_ = MemoryFiles();

    server_.fail({{.cut_after = 1'000'000}, {.lies_about_part = true}});
    expect_fetched(row());
    files_ = MemoryFiles();

    server_.fail({{.cut_after = 1'000'000}});
    part = {"", "\"2\""};
    server_.set(kFile, {content_});
    host_.progress = [&](std::uint64_t now, std::uint64_t, std::uint64_t) {
        if (now > 500'000) server_.set(kFile, part);
    };
    EXPECT_EQ(kind_of([&] { fetch(row_without_sum()); }), ErrorKind::data) << "the end of an empty file";
    EXPECT_FALSE(exists(files_, kPath));
}

TEST_F(Published, WithoutSumItMustBeAFileOfWeights) {
    server_.set(kFile, {"<html>Log in first</html>"});
    EXPECT_EQ(kind_of([&] { fetch(row_without_sum()); }), ErrorKind::data);
    EXPECT_FALSE(exists(files_, kPath));
    write_text(files_, kPath, "<html>Log in first</html>");
    EXPECT_EQ(kind_of([&] { fetch(row_without_sum()); }), ErrorKind::data);
}

TEST_F(Published, AChangedRowOrFileIsLookedAtAgain) {
    expect_fetched(row());
    PublishedWeights changed = row();
    changed.config += " ";
    expect_fetched(changed);
    EXPECT_EQ(read_text(files_, "/cache/net.tag/config.json"), changed.config);
    write_text(files_, kPath, "damaged");
    EXPECT_EQ(fetch(changed), "/cache/net.tag") << "each training would sum it";
    host_.sums_again = true;
    EXPECT_EQ(kind_of([&] { fetch(changed); }), ErrorKind::data);
    EXPECT_THAT(server_.requests(), SizeIs(1));
}

TEST_F(Published, AStopKeepsWhatHasCome) {
    std::uint64_t done = 0;
    host_.progress = [&](std::uint64_t now, std::uint64_t, std::uint64_t) { done = now; };
    host_.stop_requested = [&] { return done > 2'000'000; };
    EXPECT_THROW(fetch(row()), Interrupted);
    EXPECT_FALSE(exists(files_, kPath));
    host_.stop_requested = {};
    expect_fetched(row());
    EXPECT_NE(ranges().back(), "");
}

TEST_F(Published, AWrongSumLeavesNothing) {
    server_.set(kFile, {"something else"});
    const std::string message = message_of(ErrorKind::data, [&] { fetch(row(kFile, "package: some-package, ")); });
    const PublishedWeights weights = row();
    for (const std::string& part :
         {sha256("something else"), weights.sha256, weights.address, std::string(kPath), std::string("some-package")})
        EXPECT_THAT(message, HasSubstr(part));
    EXPECT_FALSE(exists(files_, kPath));
    EXPECT_FALSE(exists(files_, std::string(kPath) + ".download"));
    server_.set(kFile, {content_});
    expect_fetched(weights);
}

TEST_F(Published, RedirectionsAreFollowedToServersOnly) {
    server_.set("/moved", {"", "", true, server_.address(kFile)});
    expect_fetched(row("/moved"));
    const std::string secret = "file:///etc/passwd";
    for (const std::string& target : {secret, std::string("ftp://127.0.0.1/x"), server_.address("/loop")}) {
        server_.set("/loop", {"", "", true, target});
        files_ = MemoryFiles();
        EXPECT_EQ(kind_of([&] { fetch(row("/loop")); }), ErrorKind::data) << target;
        EXPECT_FALSE(exists(files_, kPath));
    }
}

TEST_F(Published, RefusalsAndSilenceEnd) {
    EXPECT_THAT(message_of(ErrorKind::data, [&] { fetch(row("/nothing")); }), HasSubstr("404"));
    EXPECT_THAT(server_.requests(), SizeIs(1));
    server_.fail(std::deque<HttpServer::Failure>(10, {.silence = milliseconds(2500)}));
    const std::string message = message_of(ErrorKind::data, [&] { fetch(row()); });
    EXPECT_THAT(message, HasSubstr(row().address));
    PublishedWeights nowhere = row();
    nowhere.address = "http://127.0.0.1:1/x.pth";
    EXPECT_THAT(message_of(ErrorKind::data, [&] { fetch(nowhere); }), HasSubstr(kPath));
}

TEST_F(Published, AFullDiskKeepsWhatHasCome) {
    files_.set_capacity_bytes(2'000'000);
    EXPECT_EQ(kind_of([&] { fetch(row()); }), ErrorKind::storage);
    files_.set_capacity_bytes(4'000'000);  // it comes as a whole, and cannot be copied
    EXPECT_EQ(kind_of([&] { fetch(row()); }), ErrorKind::storage);
    EXPECT_FALSE(exists(files_, kPath));
    files_.set_capacity_bytes(UINT64_MAX);
    expect_fetched(row());
    EXPECT_EQ(ranges().back(), std::to_string(content_.size()) + "-");
}

TEST_F(Published, TwoProcessesFetchOnce) {
    const test::TemporaryFolder folder;
    server_.fail({{.silence = milliseconds(300)}});
    const auto fetches = [&] {
        EXPECT_EQ(fetch_published(posix_files(), row(), folder.path(), host_), folder / "net.tag");
    };
    std::thread other(fetches);
    fetches();
    other.join();
    EXPECT_THAT(server_.requests(), SizeIs(1));
    EXPECT_TRUE(folder.read("net.tag/pytorch_model.bin") == content_);
}

TEST_F(Published, AFilePutThereByHandIsCheckedAndTaken) {
    write_text(files_, kPath, "something else");
    EXPECT_EQ(kind_of([&] { fetch(row()); }), ErrorKind::data);
    EXPECT_EQ(read_text(files_, kPath), "something else");
    write_text(files_, kPath, content_);
    expect_fetched(row());
    EXPECT_THAT(server_.requests(), IsEmpty());
}

TEST_F(Published, AFaultLeavesTheFileWholeOrAbsent) {
    std::map<std::string, int> tried;
    for (int number = 1;; ++number) {
        MemoryFiles disk;
        test::Fault fault(number);
        test::FaultyFiles faulty(disk, fault);
        const auto error = error_of([&] { fetch_published(faulty, row(), "/cache", host_); });
        if (fault.struck().empty()) break;
        ++tried[fault.struck()];
        EXPECT_TRUE(!exists(disk, kPath) || read_text(disk, kPath) == content_) << fault.struck();
        fetch_published(disk, row(), "/cache", host_);
        EXPECT_TRUE(read_text(disk, kPath) == content_) << fault.struck();
    }
    EXPECT_GE(tried.size(), 5U);
    test::tell_faults(tried);
}

TEST(PublishedTable, TheShippedOneNamesOneDefaultOfEachNetwork) {
    const std::string path = std::string(CNNTRAIN_SOURCE_DIR) + "/configs/weights.yml";
    const std::vector<PublishedWeights> rows = parse_published(read_text(posix_files(), path), path);
    EXPECT_GT(rows.size(), 150U);
    std::set<std::string> names;
    std::map<std::string, int> defaults;
    for (const PublishedWeights& row : rows) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_TRUE(row.address.starts_with("https://")) << row.name;
        defaults[row.model + row.size] += row.is_default ? 1 : 0;
        EXPECT_FALSE(row.is_default && row.licence.find("nc") != std::string::npos) << row.name;
    }
    for (const auto& [network, count] : defaults)
        EXPECT_EQ(count, 1) << network;
    EXPECT_TRUE(names.contains("resnet50.a1_in1k"));
    EXPECT_TRUE(names.contains("EfficientNet_V2_S_Weights.IMAGENET1K_V1"));
}

TEST(PublishedTable, RowsThatMakeNoSenseAreRefused) {
    const std::string good = row_text("net", "address: 'https://host/x.pth'");
    EXPECT_THAT(parse_published(good, "t"), SizeIs(1));
    const std::string address = "address: 'https://host/x.pth'";
    for (const std::string& bad : {
             std::string("[1, 2]"),
             std::string("net: 3"),
             std::string("net: {a: [}"),
             row_text("../net", address),
             row_text("a/b", address),
             row_text("net", "licence: mit"),
             row_text("net", "address: 'file:///etc/passwd'"),
             row_text("net", "address: 'ftp://host/x'"),
             row_text("net", "address: 'https://host/a b'"),
             row_text("net", address + ", sha256: '1234'"),
             row_text("net", address + ", sha256: 'XYZXYZXYZ'"),
             row_text("net", address + ", package: 'a; rm -rf'"),
             row_text("net", address + ", colour: red"),
             row_text("net", address + ", default: perhaps"),
             row_text("net", address + ", licence: 'a b'"),
             row_text("net", "address: 'http://'"),
             row_text("net", address) + row_text("net", address),
             std::string(
                 "net: {source: timm, model: resnet, size: 18, architecture: \"\\xff\", pixels: 9, mean: [0, 0, "
                 "0], std: [1, 1, 1], address: 'https://host/x'}"),
             std::string(
                 "net: {source: timm, model: resnet, size: 18, architecture: resnet18, pixels: -5, mean: [0, 0, "
                 "0], std: [1, 1, 1], address: 'https://host/x'}"),
         })
        EXPECT_EQ(kind_of([&] { parse_published(bad, "t"); }), ErrorKind::usage) << bad;
}

TEST(PublishedTable, TheCacheFollowsTheEnvironment) {
    EXPECT_EQ(published_cache({{"HOME", "/home/a"}}), "/home/a/.cache/cnntrain/weights");
    EXPECT_EQ(published_cache({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/c"}}), "/c/cnntrain/weights");
    EXPECT_EQ(published_cache({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "c"}}), "/home/a/.cache/cnntrain/weights");
    EXPECT_EQ(kind_of([] { published_cache({}); }), ErrorKind::usage);
}

}  // namespace
}  // namespace cnntrain::weights
